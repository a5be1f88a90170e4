import { Migration } from '@mikro-orm/migrations';

/** Slots and circuit breakers of servers. */
export class Migration0008Servers extends Migration {
  override up(): void {
    for (const statement of statements) {
      this.addSql(statement);
    }
  }
}

const statements = [
  `create unlogged table "server_places" (
      "platform" text not null,
      "base_url" text not null,
      "place" int not null,
      "workspace_id" uuid null,
      "post_channel_id" uuid null,
      "taken_at" timestamptz(3) null,
      "taken_until" timestamptz(3) null,
      "answered_at" timestamptz(3) null,
      primary key ("platform", "base_url", "place")
    )`,
  `create unlogged table "server_circuits" (
      "platform" text not null,
      "base_url" text not null,
      "failures" int not null,
      "pauses" int not null,
      "open_until" timestamptz(3) null,
      primary key ("platform", "base_url")
    )`,
];
