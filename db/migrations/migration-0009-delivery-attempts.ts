import { Migration } from '@mikro-orm/migrations';

/**
 * An attempt to deliver is written down before its request, and a place of an endpoint that hangs rests. What an older
 * worker writes beside this has ended, once begun.
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
