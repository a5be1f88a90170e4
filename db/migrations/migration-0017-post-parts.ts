import { Migration } from '@mikro-orm/migrations';

const constraints = [
  'pkey',
  'post_channel_id_run_part_unique',
  'one_claim_per_post',
  'workspace_id_foreign',
  'post_channel_id_foreign',
  'channel_id_foreign',
];

/** The table holds the parts of threads, and a part may take several attempts. Nothing read `content_hash`. */
export class Migration0017PostParts extends Migration {
  override up(): void {
    this.addSql(`alter table "publish_attempts" rename to "post_parts"`);
    for (const name of constraints) {
      this.addSql(
        `alter table "post_parts" rename constraint "publish_attempts_${name}" to "post_parts_${name}"`,
      );
    }

    this.addSql(`alter table "post_parts" drop column "content_hash"`);
  }
}
