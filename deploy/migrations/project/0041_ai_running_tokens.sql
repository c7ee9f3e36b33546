-- What an answer reserved of a day's tokens stands in the row that its maker renews: when the maker has died, the next question gives
-- it back. 0 = nothing, or given back already.
alter table {p}.ai_running add column day date;
alter table {p}.ai_running add column model text;
alter table {p}.ai_running add column tokens bigint not null default 0;
