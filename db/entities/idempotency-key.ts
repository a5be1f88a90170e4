import { defineEntity, p } from '@mikro-orm/core';
import { createdAt } from './columns.ts';
import { Post } from './post.ts';
import { Workspace } from './workspace.ts';

export const IdempotencyKeySchema = defineEntity({
  name: 'IdempotencyKey',
  tableName: 'idempotency_keys',
  primaryKeys: ['workspaceId', 'key'],
  properties: {
    workspaceId: () => p.manyToOne(Workspace).mapToPk().name('workspace_id').primary(),
    key: p.text().primary(),
    /** SHA-256 over the request's canonical JSON, in hex. */
    fingerprint: p.text(),
    postId: () => p.manyToOne(Post).mapToPk().name('post_id'),
    createdAt: createdAt(),
  },
});

export class IdempotencyKey extends IdempotencyKeySchema.class {}
IdempotencyKeySchema.setClass(IdempotencyKey);
