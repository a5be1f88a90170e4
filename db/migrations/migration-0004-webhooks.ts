import { Migration } from '@mikro-orm/migrations';

/** Slots of endpoints, disabled endpoints, and indexes for purging by age. */
export class Migration0004Webhooks extends Migration {
  override up(): void {
    for (const statement of [...places, ...disabling, ...ages]) {
      this.addSql(statement);
    }
  }
}

const places = [
  `create unlogged table "endpoint_places" (
      "endpoint_id" uuid not null,
      "place" int not null,
      "workspace_id" uuid not null,
      "delivery_id" uuid null,
      "taken_until" timestamptz(3) null,
      primary key ("endpoint_id", "place")
    )`,
  `alter table "endpoint_places"
      add constraint "endpoint_places_endpoint_id_foreign" foreign key ("endpoint_id") references "webhook_endpoints" ("id") on delete cascade`,
  `alter table "endpoint_places"
      add constraint "endpoint_places_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id")`,
];

const disabling = [
  `alter table "webhook_endpoints"
      add "failing_since" timestamptz(3) null,
      add "disabled_at" timestamptz(3) null,
      add "disabled_reason" text null`,
  `alter table "deliveries" add "error" text null`,
];

const ages = [
  `create index "deliveries_ended"
      on "deliveries" ("created_at") where "status" <> 'pending'`,
  `create index "deliveries_by_status"
      on "deliveries" ("endpoint_id", "status", "created_at", "id")`,
  `create index "events_created_at_index"
      on "events" ("created_at")`,
];
