import { Migration } from '@mikro-orm/migrations';

/** An order of events for readers. Writers leave it null, also those of the previous version. */
export class Migration0041EventSequence extends Migration {
  override up(): void {
    this.addSql(
      `alter table "workspaces" add column "last_event_sequence" bigint not null default '0'`,
    );
    this.addSql(`alter table "events" add column "sequence" bigint null`);
    this.addSql(
      `create unique index "events_numbered" on "events" ("workspace_id", "sequence") where "sequence" is not null`,
    );
    this.addSql(
      `create index "events_unnumbered" on "events" ("workspace_id", "created_at", "id") where "sequence" is null`,
    );
    this.addSql(`create index "events_by_time" on "events" ("workspace_id", "created_at", "id")`);
    this.addSql(`drop index "events_workspace_id_index"`);
  }
}
