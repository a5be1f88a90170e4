import { Migration } from '@mikro-orm/migrations';

/**
 * Stores delivery attempts before their request, and rests of slots. Attempts written by an older worker count as
 * ended.
 */
export class Migration0009DeliveryAttempts extends Migration {
  override up(): void {
    for (const statement of [...begun, ...resting]) {
      this.addSql(statement);
    }
  }
}

const begun = [
  `alter table "delivery_attempts"
      add "under_way" boolean not null default false,
      add "begun" int not null default 1`,
];

const resting = [
  `alter table "endpoint_places" add "rests_until" timestamptz(3) null`,
  `create index "endpoint_places_resting"
      on "endpoint_places" ("rests_until") where "rests_until" is not null`,
];
