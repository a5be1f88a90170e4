import { Migration } from '@mikro-orm/migrations';

/** Upgrades the schema of commit ffedd9cb, in place of the migrations from 0047 on. */
export class Upgrade extends Migration {
  override up(): void {
    this.addSql(searchWords());
    this.addSql(upgrade);
  }
}

/** The characters of a set, as ranges for a character class of PostgreSQL, whose own classes depend on the locale. */
function inClass(set: string): string {
  const one = new RegExp(set, 'v');
  const code = (at: number): string => String.raw`\U${at.toString(16).padStart(8, '0')}`;
  let [ranges, first] = ['', 0];
  for (let at = 1; at <= 0x11_0000; at += 1) {
    const isIn = at < 0x11_0000 && one.test(String.fromCodePoint(at));
    if (isIn && first === 0) {
      first = at;
    } else if (!isIn && first > 0) {
      ranges += `${code(first)}-${code(at - 1)}`;
      first = 0;
    }
  }

  return ranges;
}

/**
 * The words of a text: what stands between separators, in NFC and lower case. Chinese, Japanese and Korean have no
 * separators, so each letter and each pair of neighbours is a word there, which finds any part of a text.
 *
 * It orders marks in words of at most 100 characters, since the time for that is quadratic.
 */
function searchWords(): string {
  const ignored = inClass(String.raw`[[\p{Default_Ignorable_Code_Point}\p{Me}]--[\u200B\p{L}]]`);
  const marks = inClass(String.raw`\p{M}`);
  // The last of them are apostrophes.
  const separators = inClass(
    String.raw`[[\p{P}\p{S}\p{Z}\p{C}\p{Extended_Pictographic}\u02BB\u02BC]--[\p{Cn}\p{Cs}\p{N}]]`,
  );
  // With the two marks of Japanese letters in NFD.
  const unspaced = inClass(
    String.raw`[[[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}\p{scx=Bopo}]&&[\p{L}\p{N}]]\u3099\u309A]`,
  );
  return `create function "search_words"(given text) returns text[] language sql immutable parallel safe as $$
    with whole as materialized (select ' ' || regexp_replace(given, '[${ignored}]+', '', 'g') as body)
    select array_agg(lower(normalize(word, nfc) collate "pg_c_utf8")) from (
      select left(spaced, 100) as word
      from whole, regexp_split_to_table(body, '[${separators}${unspaced}][${separators}${unspaced}${marks}]*') spaced
      union all
      select unnest(array[letter, letter || next])
      from whole, regexp_matches(body, '[${unspaced}]+', 'g') run, lateral (
        select letter, lead(letter) over (order by at) as next
        from string_to_table(normalize(run[1], nfc), null) with ordinality letters (letter, at)) pairs
    ) words where word <> ''
  $$`;
}

/**
 * The words of a post's texts, its tags after `#`, and its workspace after `@`, so that one index finds the posts of a
 * workspace. No word contains these characters. The limit keeps the words below the 1 MiB that a `tsvector` may have.
 */
const termsOf = (which: string): string => `
  select p.id, p.workspace_id, array_to_tsvector(search_words(left(concat_ws(' ', p.body,
        (select string_agg(part, ' ') from jsonb_array_elements_text(
           case jsonb_typeof(p.thread) when 'array' then p.thread end) part),
        (select string_agg(pc.body, ' ') from post_channels pc
         where pc.post_id = p.id and pc.workspace_id = p.workspace_id)), 50000))
      || array['@' || p.workspace_id] || array(select '#' || tag from unnest(p.tags) tag))
  from posts p where ${which}`;

/** Its argument is the column with the post's id. A deleted post takes its row along. */
const indexPost = `create or replace function index_post() returns trigger language plpgsql as $$
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
    insert into post_search (post_id, workspace_id, terms) ${termsOf('p.id = post')}
      on conflict (post_id) do update set terms = excluded.terms;
    return null;
  end $$`;

const upgrade = `
  alter table operator_keys add column expires_at timestamptz(3) null;

  -- In the order in which statements lock them.
  lock table posts, post_channels, post_search in access exclusive mode;
  alter table posts add column warnings jsonb null; -- Null for posts that an earlier version wrote.
  alter table post_channels add column warnings jsonb null;

  -- Tags are in NFC, and the words no longer depend on the locale. This takes a minute for a million posts.
  update posts set tags = array(select normalize(tag, nfc) from unnest(tags) tag)
    where tags::text is not nfc normalized;
  drop table post_search;
  create table post_search (
    post_id uuid not null,
    workspace_id uuid not null,
    terms tsvector not null,
    constraint post_search_pkey primary key (post_id));
  insert into post_search (post_id, workspace_id, terms) ${termsOf('true')};
  alter table post_search
    add constraint post_search_post_id_foreign foreign key (post_id) references posts (id) on delete cascade,
    add constraint post_search_workspace_id_foreign foreign key (workspace_id) references workspaces (id);
  -- A search reads all pending entries one by one.
  create index post_search_terms on post_search using gin (terms) with (gin_pending_list_limit = 1024);
  ${indexPost};

  -- Processes count calls, requests and attempts in their memory, keep limits there, and log what a sweep finds.
  drop table if exists rate_limits, endpoint_places, server_places, server_circuits, network_parks, sweep_finds;
  delete from delivery_attempts where under_way;
  alter table delivery_attempts drop column under_way, drop column begun;

  -- Each new post counts posts itself, and a workspace has the bytes of its texts.
  alter table workspaces add column brand jsonb not null default '{}', add column text_used bigint not null default '0';
  update workspaces w set text_used = coalesce(
    (select sum(text_used) from quota_shares where workspace_id = w.id),
    (select sum(coalesce(octet_length(p.body), 0)
        + coalesce((select sum(octet_length(part)) from jsonb_array_elements_text(p.thread) part), 0)
        + coalesce((select sum(coalesce(octet_length(pc.body), 0) + coalesce(octet_length(pc.options::text), 0)
            + coalesce(octet_length(pc.defaults::text), 0) + coalesce(octet_length(pc.media::text), 0))
          from post_channels pc where pc.post_id = p.id), 0)
        + coalesce((select sum(octet_length(pm.alt_text)) from post_media pm where pm.post_id = p.id), 0))
      from posts p where p.workspace_id = w.id), 0);
  drop table quota_shares;

  -- A file's row comes before its bytes.
  alter table media_files add column stored_at timestamptz(3) null default now();
  alter table media_files alter column stored_at drop default;
  update media_files m set stored_at = null where deleted_at is not null
    and not exists (select from unsettled_files u where u.id = m.id);
  -- Files without a row become deleted ones of any workspace; the sweep removes their bytes and then these rows.
  insert into media_files (id, workspace_id, name, type, size_bytes, storage_key, link_token, created_at, stored_at, deleted_at)
    select u.id, (select id from workspaces limit 1), '', '', 0, u.id, u.id, now(), now(), now()
    from unsettled_files u where not exists (select from media_files m where m.id = u.id);
  create index media_files_unsettled on media_files (id)
    where (stored_at is null and deleted_at is null) or (stored_at is not null and deleted_at is not null);
  drop table unsettled_files;

  -- A post's row says that it is being removed from its networks.
  alter table posts add column is_being_removed boolean not null default false;
  update posts set is_being_removed = true, synced_revision = revision - 1
    where id in (select post_id from unpublish_requests);
  create index posts_being_removed on posts (id) where is_being_removed;
  drop table unpublish_requests;

  -- The service writes the sums of a post's metrics (db/sum-metrics.ts).
  drop trigger if exists post_channels_metrics on post_channels;
  drop function if exists sum_post_metrics`;
