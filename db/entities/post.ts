import { defineEntity, p } from '@mikro-orm/core';
import type { PostStatus } from '../../domain/post-status.ts';
import type { VideoOptions } from '../../domain/post-view.ts';
import { createdAt, id, instant, updatedAt } from './columns.ts';
import { Workspace } from './workspace.ts';

export const PostSchema = defineEntity({
  name: 'Post',
  tableName: 'posts',
  indexes: [
    { name: 'posts_newest', properties: ['workspaceId', 'createdAt', 'id'] },
    {
      name: 'posts_newest_by_status',
      properties: ['workspaceId', 'status', 'createdAt', 'id'],
    },
    {
      name: 'posts_published',
      expression:
        'create index "posts_published" on "posts" ("workspace_id", "published_at", "id") where "published_at" is not null',
    },
    {
      name: 'posts_failed',
      expression: `create index "posts_failed" on "posts" ("updated_at", "id") where "status" = 'failed'`,
    },
    {
      name: 'posts_due',
      expression: `create index "posts_due" on "posts" (coalesce("retried_at", "scheduled_at")) where "status" in ('scheduled', 'publishing')`,
    },
    {
      name: 'posts_due_by_workspace',
      expression: `create index "posts_due_by_workspace" on "posts" ("workspace_id", (coalesce("retried_at", "scheduled_at")), "id") where "status" in ('scheduled', 'publishing')`,
    },
    {
      name: 'posts_unsynced',
      expression:
        'create index "posts_unsynced" on "posts" (coalesce("retried_at", "scheduled_at") nulls first) where "synced_revision" < "revision"',
    },
  ],
  properties: {
    id: id(),
    workspaceId: () => p.manyToOne(Workspace).mapToPk().name('workspace_id'),
    body: p.text().strictNullable(),
    thread: p.json<readonly string[]>().strictNullable(),
    scheduledAt: instant().strictNullable(),
    status: p.text().$type<PostStatus>(),
    /** Incremented by every change that the workflow has to receive. */
    revision: p.integer().default(1),
    /** Revision of the last sync. A row with a lower value than `revision` is in the outbox. */
    syncedRevision: p.integer().default(0),
    /** 1, plus one for each further run. */
    run: p.integer().default(1),
    /** Time of the last retry. The publish window then starts here instead of at `scheduledAt`. */
    retriedAt: instant().strictNullable(),
    video: p.json<VideoOptions>().strictNullable(),
    warning: p.text().strictNullable(),
    publishedAt: instant().strictNullable(),
    /** Time at which its workflow wakes up, if later than its due time: see `wakeTime` in `temporal/sync-post.ts`. */
    wakesAt: instant().strictNullable(),
    /** Time of the sweep's last check of its workflow. */
    checkedAt: instant().strictNullable(),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
});

/** A post. This row, not Temporal, is the source of truth. */
export class Post extends PostSchema.class {}
PostSchema.setClass(Post);
