-- The schema of commit ffedd9cb, without some tables and a trigger that later migrations only drop.
-- `migration-0046-dropped-references` creates it in an empty database.

-- Identity of the database, in one row. A dump includes it.
create table installation (
  id uuid primary key,
  sealed_by text, -- Id of the SECRET_KEY that the secrets are sealed under; null until the first process starts.
  storage_marked_at timestamptz(3), -- When the media storage was marked as this database's.
  beats integer default 0 not null, -- Counter of workers, and the time of its last increment (db/restore-counter.ts).
  beat_at timestamptz(3),
  behind_since timestamptz(3) -- When a restore was detected, or the first known change that it lost; null after `restore finish`.
);

-- Metric reads begun in a month, for networks that charge for them.
create table metric_reads (
  platform text not null,
  month date not null, -- First day, in UTC.
  reads integer not null,
  constraint metric_reads_pkey primary key (platform, month)
);

create table oauth_apps (
  platform text not null,
  base_url text not null,
  redirect_uri text not null,
  client_id text not null,
  sealed_secret text not null,
  created_at timestamptz(3) not null,
  constraint oauth_apps_pkey primary key (platform, base_url, redirect_uri)
);

create table unsettled_files (
  id uuid primary key,
  noted_at timestamptz(3) not null,
  is_lost boolean not null
);

create table workspaces (
  id uuid primary key,
  name text,
  plan text default 'standard'::text,
  created_at timestamptz(3) not null,
  quotas jsonb default '{}'::jsonb not null,
  deleted_at timestamptz(3),
  purged_at timestamptz(3),
  last_event_sequence bigint default '0' not null
);
create index workspaces_deleted on workspaces (deleted_at) where ((deleted_at is not null) and (purged_at is null));

-- Used part of a workspace's daily allowance on a network.
create table network_use (
  workspace_id uuid not null,
  platform text not null,
  day date not null, -- In UTC.
  used integer not null,
  constraint network_use_pkey primary key (workspace_id, platform, day),
  constraint network_use_workspace_id_foreign foreign key (workspace_id) references workspaces(id) on delete cascade
);

create table audit_log (
  workspace_id uuid not null,
  at timestamptz(3) not null,
  id uuid not null,
  actor text not null,
  actor_id uuid,
  action text not null,
  object_id uuid not null,
  request_id text,
  address text,
  constraint audit_log_pkey primary key (workspace_id, at, id)
);
-- Every post adds a row: the partial index leaves out most rows, and BRIN costs an insert nearly nothing.
create index audit_log_object on audit_log (object_id);
create index audit_log_action on audit_log (workspace_id, action, at, id) where (action <> 'post.created'::text);
create index audit_log_at on audit_log using brin (at);

-- Keys that manage workspaces and read nothing in them.
create table operator_keys (
  id uuid primary key,
  name text not null,
  hash text not null, -- SHA-256 of the whole key, in hex.
  last_four text not null,
  created_at timestamptz(3) not null,
  revoked_at timestamptz(3),
  last_used_at timestamptz(3),
  constraint operator_keys_hash_unique unique (hash)
);

create table api_keys (
  id uuid primary key,
  workspace_id uuid not null,
  hash text not null,
  last_four text not null,
  created_at timestamptz(3) not null,
  revoked_at timestamptz(3),
  last_used_at timestamptz(3),
  name text,
  scopes text[],
  channel_ids uuid[],
  expires_at timestamptz(3),
  constraint api_keys_hash_unique unique (hash),
  constraint api_keys_workspace_id_foreign foreign key (workspace_id) references workspaces(id)
);
create index api_keys_workspace_id_index on api_keys (workspace_id);

create table channels (
  id uuid primary key,
  workspace_id uuid not null,
  platform text not null,
  handle text not null,
  remote_id text not null,
  base_url text not null,
  sealed_credentials text not null,
  sealed_session text,
  state text default 'connected'::text not null,
  error text,
  parked_until timestamptz(3),
  settings jsonb not null,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  last_late_send_at timestamptz(3),
  options jsonb,
  disconnected_at timestamptz(3),
  followers integer,
  followers_updated_at timestamptz(3),
  checked_at timestamptz(3),
  check_answer jsonb,
  display_name text,
  given_name text,
  constraint channels_workspace_id_platform_base_url_remote_id_unique unique (workspace_id, platform, base_url, remote_id),
  constraint channels_workspace_id_foreign foreign key (workspace_id) references workspaces(id)
);

create table channel_grants (
  channel_id uuid primary key,
  workspace_id uuid not null,
  sealed_grant text not null,
  access_ends_at timestamptz(3),
  ends_at timestamptz(3),
  warned_of timestamptz(3),
  failing_since timestamptz(3),
  refreshed_at timestamptz(3),
  refreshing_until timestamptz(3),
  created_at timestamptz(3) not null,
  refreshing_by uuid,
  constraint channel_grants_channel_id_foreign foreign key (channel_id) references channels(id) on update cascade on delete cascade,
  constraint channel_grants_workspace_id_foreign foreign key (workspace_id) references workspaces(id)
);
create index channel_grants_ending on channel_grants (ends_at) where (ends_at is not null);

create table connect_links (
  id uuid primary key,
  workspace_id uuid not null,
  platform text not null,
  token_hash text not null,
  channel_id uuid,
  "values" jsonb not null,
  at_sandbox boolean not null,
  return_url text,
  status text not null,
  state_hash text,
  browser_hash text,
  redirect_uri text,
  sealed_flow text,
  connected_id uuid,
  error text,
  error_code text,
  expires_at timestamptz(3) not null,
  created_at timestamptz(3) not null,
  refused_secrets integer default 0 not null,
  constraint connect_links_state_hash_unique unique (state_hash),
  constraint connect_links_token_hash_unique unique (token_hash),
  constraint connect_links_channel_id_foreign foreign key (channel_id) references channels(id) on delete cascade,
  constraint connect_links_connected_id_foreign foreign key (connected_id) references channels(id) on delete set null,
  constraint connect_links_workspace_id_foreign foreign key (workspace_id) references workspaces(id)
);
create index connect_links_expires_at_index on connect_links (expires_at);
create index connect_links_workspace_id_index on connect_links (workspace_id);

create table media_files (
  id uuid primary key,
  workspace_id uuid not null,
  name text not null,
  type text not null,
  size_bytes bigint not null,
  width integer,
  height integer,
  duration_ms integer,
  storage_key text not null,
  link_token text not null,
  created_at timestamptz(3) not null,
  deleted_at timestamptz(3),
  alt_text text,
  details jsonb,
  constraint media_files_link_token_unique unique (link_token),
  constraint media_files_workspace_id_foreign foreign key (workspace_id) references workspaces(id)
);
create index media_files_newest on media_files (workspace_id, created_at, id) where (deleted_at is null);

create table posts (
  id uuid primary key,
  workspace_id uuid not null,
  body text,
  thread jsonb,
  scheduled_at timestamptz(3),
  status text not null,
  revision integer default 1 not null,
  synced_revision integer default 0 not null,
  run integer default 1 not null,
  video jsonb,
  warning text,
  published_at timestamptz(3),
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  retried_at timestamptz(3),
  checked_at timestamptz(3),
  wakes_at timestamptz(3),
  tags text[] default '{}'::text[] not null,
  metadata jsonb default '{}'::jsonb not null,
  external_id text,
  timezone text,
  constraint posts_workspace_id_foreign foreign key (workspace_id) references workspaces(id)
);
create index posts_by_time on posts (workspace_id, scheduled_at, id) where (scheduled_at is not null);
create index posts_due on posts (coalesce(retried_at, scheduled_at)) where (status = any (array['scheduled'::text, 'publishing'::text]));
create index posts_due_by_workspace on posts (workspace_id, coalesce(retried_at, scheduled_at), id) where (status = any (array['scheduled'::text, 'publishing'::text]));
create unique index posts_external_id on posts (workspace_id, external_id) where (external_id is not null);
create index posts_failed on posts (updated_at, id) where (status = 'failed'::text);
create index posts_newest on posts (workspace_id, created_at, id);
create index posts_newest_by_status on posts (workspace_id, status, created_at, id);
create index posts_published on posts (workspace_id, published_at, id) where (published_at is not null);
create index posts_unsynced on posts (coalesce(retried_at, scheduled_at) nulls first) where (synced_revision < revision);

create table events (
  id uuid primary key,
  workspace_id uuid not null,
  type text not null,
  body text not null, -- Exact bytes that each attempt signs and sends. Text, because jsonb reorders keys.
  post_id uuid, -- Not a reference: an event keeps the id of its post when that is deleted.
  run integer, -- Of a post's final event, one per run.
  channel_id uuid,
  created_at timestamptz(3) not null,
  sequence bigint, -- Place in the order of `GET /events`, which numbers committed events; null before.
  constraint events_one_final_per_run unique (post_id, run),
  constraint events_channel_id_foreign foreign key (channel_id) references channels(id) on delete set null,
  constraint events_workspace_id_foreign foreign key (workspace_id) references workspaces(id)
);
create index events_channel_id_index on events (channel_id);
create index events_created_at_index on events (created_at);
create unique index events_numbered on events (workspace_id, sequence) where (sequence is not null);
create index events_unnumbered on events (workspace_id, created_at, id) where (sequence is null);
create index events_by_time on events (workspace_id, created_at, id);

create table idempotency_keys (
  workspace_id uuid not null, -- The workspace; the operator key for a call with one.
  key text not null,
  fingerprint text not null, -- SHA-256 over the request's canonical JSON, in hex.
  post_id uuid, -- The post that it created, which may have been deleted; null for another object.
  created_at timestamptz(3) not null,
  sealed_answer text, -- The answer of a call that created another object.
  expires_at timestamptz(3), -- Null as long as its post exists.
  constraint idempotency_keys_pkey primary key (workspace_id, key)
);
create index idempotency_keys_expiring on idempotency_keys (expires_at) where (expires_at is not null);
create index idempotency_keys_post_id_index on idempotency_keys (post_id);

create table post_channels (
  id uuid primary key,
  workspace_id uuid not null,
  post_id uuid not null,
  channel_id uuid not null,
  "position" integer not null,
  body text,
  status text not null,
  url text,
  error text,
  error_code text,
  warning text,
  retry_at timestamptz(3),
  tries integer default 0 not null,
  metrics jsonb,
  published_at timestamptz(3),
  sent_text text,
  metrics_updated_at timestamptz(3),
  tried_at timestamptz(3),
  settled_at timestamptz(3),
  options jsonb,
  sent_warning text,
  defaults jsonb,
  next_metrics_at timestamptz(3),
  gone_at timestamptz(3),
  unpublish jsonb,
  media jsonb,
  text_hash bigint,
  text_due_at timestamptz(3),
  constraint post_channels_post_id_channel_id_unique unique (post_id, channel_id),
  constraint post_channels_channel_id_foreign foreign key (channel_id) references channels(id),
  constraint post_channels_post_id_foreign foreign key (post_id) references posts(id),
  constraint post_channels_workspace_id_foreign foreign key (workspace_id) references workspaces(id)
);
create index post_channels_access_lost on post_channels (channel_id) where ((status = 'failed'::text) and (error_code = 'access_lost'::text));
create index post_channels_being_sent on post_channels (post_id) where (status = any (array['publishing'::text, 'retrying'::text]));
create index post_channels_channel_id_index on post_channels (channel_id);
create index post_channels_metrics_due on post_channels (next_metrics_at) where (next_metrics_at is not null);
create index post_channels_open on post_channels (channel_id) where (status = any (array['scheduled'::text, 'publishing'::text, 'retrying'::text]));
create index post_channels_published on post_channels (channel_id, published_at) where (status = 'published'::text);
create index post_channels_same_text on post_channels (channel_id, text_hash, text_due_at) where (text_due_at is not null);
create index post_channels_settled on post_channels (channel_id) where (settled_at is not null);
create index post_channels_unconfirmed on post_channels (post_id) where (status = 'unconfirmed'::text);

-- Last metrics of a post's channel on a day, in UTC.
create table metric_days (
  post_channel_id uuid not null,
  day date not null,
  workspace_id uuid not null,
  metrics jsonb not null,
  constraint metric_days_pkey primary key (post_channel_id, day),
  constraint metric_days_post_channel_id_foreign foreign key (post_channel_id) references post_channels(id) on delete cascade,
  constraint metric_days_workspace_id_foreign foreign key (workspace_id) references workspaces(id)
);
create index metric_days_day on metric_days (day);

create table post_media (
  post_id uuid not null,
  media_id uuid not null,
  workspace_id uuid not null,
  "position" integer not null,
  from_url boolean not null,
  part integer default 0 not null,
  alt_text text,
  constraint post_media_pkey primary key (post_id, media_id, part),
  constraint post_media_media_id_foreign foreign key (media_id) references media_files(id),
  constraint post_media_post_id_foreign foreign key (post_id) references posts(id),
  constraint post_media_workspace_id_foreign foreign key (workspace_id) references workspaces(id)
);
create index post_media_media_id_index on post_media (media_id);

-- Sums of a post's metrics, written by db/sum-metrics.ts.
create table post_metrics (
  post_id uuid not null,
  scope text not null, -- `all`, a platform's name, or a channel's id.
  workspace_id uuid not null,
  published_at timestamptz(3) not null, -- First publication among these channels.
  channels integer not null,
  unread integer not null, -- Channels without metrics yet.
  with_impressions integer not null,
  impressions bigint not null,
  likes bigint not null,
  comments bigint not null,
  shares bigint not null,
  saves bigint not null,
  constraint post_metrics_pkey primary key (post_id, scope),
  constraint post_metrics_post_id_foreign foreign key (post_id) references posts(id) on delete cascade,
  constraint post_metrics_workspace_id_foreign foreign key (workspace_id) references workspaces(id)
);
create index post_metrics_engagement on post_metrics (workspace_id, scope, ((((likes + comments) + shares) + saves)) desc);
create index post_metrics_published on post_metrics (workspace_id, scope, published_at, post_id) include (impressions, with_impressions, likes, comments, shares, saves, unread, channels);

create table post_parts (
  id uuid primary key,
  workspace_id uuid not null,
  post_channel_id uuid,
  channel_id uuid not null,
  run integer not null,
  part integer not null,
  key text not null,
  state text not null,
  text text not null,
  remote_data jsonb not null,
  remote_id text,
  url text,
  sending_at timestamptz(3),
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  sealed_uploads text,
  warning text,
  constraint post_parts_one_claim_per_post unique (channel_id, remote_id),
  constraint post_parts_post_channel_id_run_part_unique unique (post_channel_id, run, part),
  constraint post_parts_channel_id_foreign foreign key (channel_id) references channels(id),
  constraint post_parts_post_channel_id_foreign foreign key (post_channel_id) references post_channels(id) on delete set null,
  constraint post_parts_workspace_id_foreign foreign key (workspace_id) references workspaces(id)
);

create table unpublish_requests (
  post_id uuid primary key,
  workspace_id uuid not null,
  sync_at timestamptz(3) not null,
  constraint unpublish_requests_post_id_foreign foreign key (post_id) references posts(id) on delete cascade,
  constraint unpublish_requests_workspace_id_foreign foreign key (workspace_id) references workspaces(id)
);
create index unpublish_requests_sync_at_index on unpublish_requests (sync_at);

-- What `GET /posts` searches by words and tags. Only triggers write it.
create table post_search (
  post_id uuid primary key,
  workspace_id uuid not null,
  terms tsvector not null,
  constraint post_search_post_id_foreign foreign key (post_id) references posts(id) on delete cascade,
  constraint post_search_workspace_id_foreign foreign key (workspace_id) references workspaces(id)
);
create index post_search_terms on post_search using gin (terms) with (gin_pending_list_limit = 1024);

create table quota_shares (
  workspace_id uuid not null,
  share smallint not null,
  basis text not null,
  scheduled bigint not null,
  drafts bigint not null,
  text_bytes bigint not null,
  text_used bigint not null,
  constraint quota_shares_pkey primary key (workspace_id, share),
  constraint quota_shares_workspace_id_foreign foreign key (workspace_id) references workspaces(id)
)
with (fillfactor='50');

create table webhook_endpoints (
  id uuid primary key,
  workspace_id uuid not null,
  url text not null,
  events jsonb not null,
  description text,
  sealed_secret text not null,
  secret_hint text not null,
  created_at timestamptz(3) not null,
  next_sealed_secret text,
  next_secret_hint text,
  rotates_at timestamptz(3),
  failing_since timestamptz(3),
  disabled_at timestamptz(3),
  disabled_reason text,
  constraint webhook_endpoints_workspace_id_foreign foreign key (workspace_id) references workspaces(id)
);
create index webhook_endpoints_workspace_id_index on webhook_endpoints (workspace_id);

create table deliveries (
  id uuid primary key,
  workspace_id uuid not null,
  endpoint_id uuid not null,
  event_id uuid not null,
  status text default 'pending'::text not null,
  next_attempt_at timestamptz(3), -- By the database's clock.
  created_at timestamptz(3) not null,
  round integer default 1 not null, -- 1, plus one for each replay. A round has six attempts.
  synced_round integer default 1 not null, -- Of the last sync; the post's workflow starts the first. Below `round`: in the outbox.
  attempts_before integer default 0 not null, -- Attempts in earlier rounds.
  checked_at timestamptz(3), -- The sweep's last check of its workflow.
  error text, -- Why it failed without an attempt.
  constraint deliveries_endpoint_id_event_id_unique unique (endpoint_id, event_id),
  constraint deliveries_endpoint_id_foreign foreign key (endpoint_id) references webhook_endpoints(id) on delete cascade,
  constraint deliveries_event_id_foreign foreign key (event_id) references events(id),
  constraint deliveries_workspace_id_foreign foreign key (workspace_id) references workspaces(id)
);
create index deliveries_by_status on deliveries (endpoint_id, status, created_at, id);
create index deliveries_due on deliveries (coalesce(next_attempt_at, created_at)) where (status = 'pending'::text);
create index deliveries_ended on deliveries (created_at) where (status <> 'pending'::text);
create index deliveries_event_id_index on deliveries (event_id);
create index deliveries_newest on deliveries (endpoint_id, created_at, id);
create index deliveries_unsynced on deliveries (id) where (synced_round < round);

create table delivery_attempts (
  id uuid primary key,
  workspace_id uuid not null,
  delivery_id uuid not null,
  number integer not null,
  created_at timestamptz(3) not null,
  duration_ms integer not null,
  response_status integer,
  error text,
  under_way boolean default false not null,
  begun integer default 1 not null,
  constraint delivery_attempts_delivery_id_number_unique unique (delivery_id, number),
  constraint delivery_attempts_delivery_id_foreign foreign key (delivery_id) references deliveries(id) on delete cascade,
  constraint delivery_attempts_workspace_id_foreign foreign key (workspace_id) references workspaces(id)
);

create function index_post() returns trigger language plpgsql as $$
  declare
    post uuid;
  begin
    if tg_argv[0] = 'id' then
      post := new.id;
    elsif tg_op = 'DELETE' then
      post := old.post_id;
    else
      post := new.post_id;
    end if;
    insert into post_search (post_id, workspace_id, terms) select p.id, p.workspace_id,
    strip(to_tsvector('pg_catalog.simple', translate(left(concat_ws(' ', p.body,
        (select string_agg(part, ' ') from jsonb_array_elements_text(
           case jsonb_typeof(p.thread) when 'array' then p.thread end) part),
        (select string_agg(pc.body, ' ') from post_channels pc
         where pc.post_id = p.id and pc.workspace_id = p.workspace_id)), 50000), '&+-./<@_~', '         ')))
      || array_to_tsvector(array['@' || p.workspace_id] || array(select '#' || tag from unnest(p.tags) tag))
  from posts p where p.id = post
      on conflict (post_id) do update set terms = excluded.terms;
    return null;
  end $$;

create trigger posts_search after insert or update of body, thread, tags on posts for each row execute function index_post('id');
create trigger post_channels_search after insert or update of body on post_channels for each row when (new.body is not null) execute function index_post('post_id');
create trigger post_channels_search_less after delete or update of body on post_channels for each row when (old.body is not null) execute function index_post('post_id');

insert into installation (id) values (gen_random_uuid());
