-- Uploads that go on after an interruption (tus). What has arrived lies in the store in parts, whose keys stand in file_garbage
-- until the upload's end like those of any upload.

create table {p}.file_uploads (
  id         text primary key,                     -- 32 digits of chance: its address
  length     bigint not null,
  received   bigint not null default 0,            -- the sum of its parts; the length once it is a file
  filename   text not null,
  metadata   text not null,                        -- Upload-Metadata, as it came
  folder_id  bigint,
  is_public  boolean not null,
  file_id    bigint,                               -- what has become of it
  created_by bigint not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index file_uploads_expire on {p}.file_uploads (expires_at);

create table {p}.file_upload_parts (
  upload_id text not null references {p}.file_uploads (id) on delete cascade,
  place     bigint not null,                       -- of its first byte
  key       text not null,                         -- in the store
  size      bigint not null,
  primary key (upload_id, place)
);
