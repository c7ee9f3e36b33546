-- What the statements of several files share.

-- Currencies whose minor unit is the unit itself, and those with three decimals: as in payments/money.c.
-- part: zero_decimal
'bif','clp','djf','gnf','jpy','kmf','krw','mga','pyg','rwf','vnd','vuv','xaf','xof','xpf'

-- part: three_decimal
'bhd','iqd','jod','kwd','lyd','omr','tnd'
