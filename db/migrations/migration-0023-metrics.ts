import { Migration } from '@mikro-orm/migrations';

/** Times of metric reads, daily metrics, and the sums of each post for `GET /analytics`. */
export class Migration0023Metrics extends Migration {
  override up(): void {
    this.addSql(
      `alter table "post_channels" add column "next_metrics_at" timestamptz(3) null, add column "gone_at" timestamptz(3) null`,
    );
    this.addSql(
      `alter table "channels" add column "followers" int null, add column "followers_updated_at" timestamptz(3) null`,
    );
    // Spreads the first read of existing posts over the next day.
    this.addSql(
      `update "post_channels" set "next_metrics_at" = now() + random() * interval '1 day'
        where "status" = 'published' and "published_at" > now() - interval '1 year'`,
    );
    this.addSql(
      `create index "post_channels_metrics_due" on "post_channels" ("next_metrics_at") where "next_metrics_at" is not null`,
    );
    this.addSql(
      `create table "metric_days" (
        "post_channel_id" uuid not null,
        "day" date not null,
        "workspace_id" uuid not null,
        "metrics" jsonb not null,
        primary key ("post_channel_id", "day"),
        constraint "metric_days_post_channel_id_foreign" foreign key ("post_channel_id") references "post_channels" ("id") on delete cascade,
        constraint "metric_days_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id")
      )`,
    );
    this.addSql(`create index "metric_days_day" on "metric_days" ("day")`);
    this.addSql(
      `create table "metric_reads" (
        "platform" text not null,
        "month" date not null,
        "reads" int not null,
        primary key ("platform", "month")
      )`,
    );
    this.createSums();
  }

  private createSums(): void {
    this.addSql(
      `create table "post_metrics" (
        "post_id" uuid not null,
        "scope" text not null,
        "workspace_id" uuid not null,
        "published_at" timestamptz(3) not null,
        "channels" int not null,
        "unread" int not null,
        "with_impressions" int not null,
        "impressions" bigint not null,
        "likes" bigint not null,
        "comments" bigint not null,
        "shares" bigint not null,
        "saves" bigint not null,
        primary key ("post_id", "scope"),
        constraint "post_metrics_post_id_foreign" foreign key ("post_id") references "posts" ("id") on delete cascade,
        constraint "post_metrics_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id")
      )`,
    );
    this.addSql(
      `create index "post_metrics_published" on "post_metrics" ("workspace_id", "scope", "published_at", "post_id")
        include ("impressions", "with_impressions", "likes", "comments", "shares", "saves", "unread", "channels")`,
    );
    this.addSql(
      `insert into "post_metrics"
        select pc.post_id, scope, pc.workspace_id, min(pc.published_at), count(*),
          count(*) filter (where pc.metrics_updated_at is null), count(pc.metrics->>'impressions'),
          ${columns.map((name) => `coalesce(sum((pc.metrics->>'${name}')::float8::bigint), 0)`).join(', ')}
        from post_channels pc join channels c on c.id = pc.channel_id
        cross join lateral unnest(array['all', c.platform, c.id::text]) scope
        where pc.status = 'published' and pc.published_at is not null
        group by pc.post_id, scope, pc.workspace_id`,
    );
    for (const statement of keepSums) {
      this.addSql(statement);
    }
  }
}

const columns = ['impressions', 'likes', 'comments', 'shares', 'saves'] as const;

const valueOf = (row: 'before' | 'after', name: string): string =>
  `coalesce((${row}.metrics->>'${name}')::float8::bigint, 0)`;

const changeOf = (name: string): string => `${valueOf('after', name)} - ${valueOf('before', name)}`;

const add = (to: string, name: string, value: string): string =>
  `${name} = ${to}${name} + ${value}`;

/** SQL: first publication among the channels of a row of sums. Never null: a row about to be deleted keeps its time. */
const firstOf = `coalesce((
            select min(pc.published_at) from post_channels pc join channels c on c.id = pc.channel_id
            where pc.post_id = pm.post_id and pc.status = 'published' and pm.scope in ('all', c.platform, c.id::text)
          ), pm.published_at)`;

/**
 * Adds changes of a post's channel to the post's sums in the same transaction, so that a crash cannot separate them.
 * Adds differences, so that concurrent changes of other channels need not be visible. Always changes the sums of scope
 * `all` first, so that two channels of a post cannot deadlock.
 */
const keepSums = [
  `create function "sum_post_metrics"() returns trigger language plpgsql as $$
  declare
    before post_channels;
    after post_channels;
    scopes text[];
  begin
    if tg_op <> 'INSERT' and old.status = 'published' and old.published_at is not null then
      before := old;
    end if;
    if tg_op <> 'DELETE' and new.status = 'published' and new.published_at is not null then
      after := new;
    end if;
    if before.id is null and after.id is null then
      return null;
    end if;

    select array['all', platform, id::text] into scopes from channels
      where id = coalesce(after.channel_id, before.channel_id);
    if after.id is null then
      perform from post_metrics where post_id = before.post_id and scope = 'all' for update;
      update post_metrics set channels = channels - 1,
          unread = unread - (before.metrics_updated_at is null)::int,
          with_impressions = with_impressions - (before.metrics->>'impressions' is not null)::int,
          ${columns.map((name) => `${name} = ${name} - ${valueOf('before', name)}`).join(', ')}
        where post_id = before.post_id and scope = any(scopes);
      delete from post_metrics where post_id = before.post_id and scope = any(scopes) and channels = 0;
      update post_metrics pm set published_at = ${firstOf}
        where pm.post_id = before.post_id and pm.scope = any(scopes);
      return null;
    end if;

    insert into post_metrics
        (post_id, scope, workspace_id, published_at, channels, unread, with_impressions, ${columns.join(', ')})
      select after.post_id, scope, after.workspace_id, after.published_at, (before.id is null)::int,
        (after.metrics_updated_at is null)::int - (before.id is not null and before.metrics_updated_at is null)::int,
        (after.metrics->>'impressions' is not null)::int - (before.metrics->>'impressions' is not null)::int,
        ${columns.map(changeOf).join(', ')}
      from unnest(scopes) with ordinality as s (scope, nr) order by nr
    on conflict (post_id, scope) do update set
      published_at = least(post_metrics.published_at, excluded.published_at),
      ${['channels', 'unread', 'with_impressions', ...columns].map((name) => add('post_metrics.', name, `excluded.${name}`)).join(', ')};
    if after.published_at > before.published_at then
      update post_metrics pm set published_at = ${firstOf}
        where pm.post_id = after.post_id and pm.scope = any(scopes);
    end if;
    return null;
  end $$`,
  `create trigger "post_channels_metrics" after insert or delete or update of status, published_at, metrics, metrics_updated_at
    on "post_channels" for each row execute function "sum_post_metrics"()`,
];
