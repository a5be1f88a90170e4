import { Migration } from '@mikro-orm/migrations';

/** Frames, frame rate, codecs and pixel format of files; null for files uploaded before. */
export class Migration0028MediaDetails extends Migration {
  override up(): void {
    this.addSql(`alter table "media_files" add column "details" jsonb null`);
  }
}
