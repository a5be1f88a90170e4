import { readFileSync } from 'node:fs';
import { Migration } from '@mikro-orm/migrations';

/**
 * The schema of the first version. It has the name of the last of the 22 migrations that it replaces, so a database that
 * ran those has it already.
 */
export class Migration0024EngagementOrder extends Migration {
  override up(): void {
    this.addSql(readFileSync(new URL('baseline.sql', import.meta.url), 'utf8'));
  }
}

/** Time at which the media storage was marked as this database's; null before the first API process. */
export class Migration0025StorageMark extends Migration {
  override up(): void {
    this.addSql(`alter table "installation" add column "storage_marked_at" timestamptz(3) null`);
  }
}

/** A counter with a copy in Temporal, to detect a restored database. */
export class Migration0026Beats extends Migration {
  override up(): void {
    this.addSql(`alter table "installation" add column "beats" int not null default 0,
      add column "beat_at" timestamptz(3) null, add column "behind_since" timestamptz(3) null`);
  }
}

/** Frames, frame rate, codecs and pixel format of files; null for files uploaded before. */
export class Migration0028MediaDetails extends Migration {
  override up(): void {
    this.addSql(`alter table "media_files" add column "details" jsonb null`);
  }
}

/** Limits of one workspace or link: slots of servers, checks, refused secrets, and the daily allowance. */
export class Migration0029FairShares extends Migration {
  override up(): void {
    // Heartbeats change none of these columns, so they update no index.
    this.addSql(
      `create index "server_places_workspace" on "server_places" ("workspace_id", "platform")
        where "post_channel_id" is not null`,
    );
    this.addSql(`alter table "connect_links" add column "refused_secrets" int not null default 0`);
    this.addSql(
      `alter table "channels" add column "checked_at" timestamptz(3) null, add column "check_answer" jsonb null`,
    );
    this.addSql(
      `create table "network_use" (
        "workspace_id" uuid not null,
        "platform" text not null,
        "day" date not null,
        "used" int not null,
        primary key ("workspace_id", "platform", "day"),
        constraint "network_use_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id") on delete cascade
      )`,
    );
  }
}

/** Display names of accounts; null for channels connected before, until the next check. */
export class Migration0033DisplayNames extends Migration {
  override up(): void {
    this.addSql(`alter table "channels" add column "display_name" text null`);
  }
}

/** The sweep no longer compares stored files with rows, so it stores no position. */
export class Migration0034SweepPositions extends Migration {
  override up(): void {
    this.addSql(`drop table "sweep_positions"`);
  }
}

/**
 * Labels of posts, and what `GET /posts` searches. Triggers fill `post_search`, so that it has the posts of every
 * writer, also of the previous version.
 */
export class Migration0035LabelsAndSearch extends Migration {
  override up(): void {
    // At once, in the order in which statements lock them: tables that later migrations of the same transaction change.
    // Otherwise a statement that holds one of them and waits for another ends the migration by a deadlock.
    this
      .addSql(`lock table "workspaces", "api_keys", "channels", "post_channels", "posts", "post_parts", "events",
      "idempotency_keys" in access exclusive mode`);
    this.addSql(`alter table "posts" add column "tags" text[] not null default '{}',
      add column "metadata" jsonb not null default '{}', add column "external_id" text null`);
    this.addSql(`create unique index "posts_external_id" on "posts" ("workspace_id", "external_id")
      where "external_id" is not null`);
    this.addSql(`create index "posts_by_time" on "posts" ("workspace_id", "scheduled_at", "id")
      where "scheduled_at" is not null`);
    this.addSql(`create table "post_search" ("post_id" uuid not null, "workspace_id" uuid not null,
      "terms" tsvector not null, primary key ("post_id"))`);
    this.addSql(
      `insert into "post_search" ("post_id", "workspace_id", "terms") ${termsOf('true')}`,
    );
    this.addSql(`alter table "post_search"
      add constraint "post_search_post_id_foreign" foreign key ("post_id") references "posts" ("id") on delete cascade,
      add constraint "post_search_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id")`);
    // A search reads all pending entries one by one.
    this.addSql(`create index "post_search_terms" on "post_search" using gin ("terms")
      with (gin_pending_list_limit = 1024)`);
    this.addSql(indexPost);
    this
      .addSql(`create trigger "posts_search" after insert or update of "body", "thread", "tags" on "posts"
      for each row execute function "index_post"('id')`);
    this
      .addSql(`create trigger "post_channels_search" after insert or update of "body" on "post_channels"
      for each row when (new."body" is not null) execute function "index_post"('post_id')`);
    this
      .addSql(`create trigger "post_channels_search_less" after delete or update of "body" on "post_channels"
      for each row when (old."body" is not null) execute function "index_post"('post_id')`);
  }
}

/**
 * The words of a post's texts, its tags after `#`, and its workspace after `@`, so that one index finds the posts of a
 * workspace. No word contains these characters.
 *
 * The parser of PostgreSQL takes time quadratic to the number of `_`, `/`, `~`, `-` or `<` in a row of letters, so
 * blanks replace them; `services/posts/search-posts.ts` does the same. The limit keeps the words below the 1 MiB that a
 * `tsvector` may have.
 */
const termsOf = (which: string): string => `
  select p.id, p.workspace_id,
    strip(to_tsvector('pg_catalog.simple', translate(left(concat_ws(' ', p.body,
        (select string_agg(part, ' ') from jsonb_array_elements_text(
           case jsonb_typeof(p.thread) when 'array' then p.thread end) part),
        (select string_agg(pc.body, ' ') from post_channels pc
         where pc.post_id = p.id and pc.workspace_id = p.workspace_id)), 50000), '&+-./<@_~', '         ')))
      || array_to_tsvector(array['@' || p.workspace_id] || array(select '#' || tag from unnest(p.tags) tag))
  from posts p where ${which}`;

/** Its argument is the column with the post's id. A deleted post takes its row along. */
const indexPost = `create function "index_post"() returns trigger language plpgsql as $$
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
