import { Migration } from '@mikro-orm/migrations';

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
