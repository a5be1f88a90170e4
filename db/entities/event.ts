import { defineEntity, p } from '@mikro-orm/core';
import type { EventType } from '../../domain/post-status.ts';
import { Channel } from './channel.ts';
import { createdAt, id } from './columns.ts';
import { Post } from './post.ts';
import { Workspace } from './workspace.ts';

export const EventSchema = defineEntity({
  name: 'Event',
  tableName: 'events',
  uniques: [{ name: 'events_one_final_per_run', properties: ['postId', 'run'] }],
  properties: {
    id: id(),
    workspaceId: () => p.manyToOne(Workspace).mapToPk().name('workspace_id').index(),
    type: p.text().$type<EventType>(),
    /** Exact bytes that each attempt signs and sends. Text, because jsonb reorders keys. */
    body: p.text(),
    /** Set for a post's final event, one per run. */
    postId: () => p.manyToOne(Post).mapToPk().name('post_id').strictNullable(),
    run: p.integer().strictNullable(),
    /** Set for an event about a channel. */
    channelId: () => p.manyToOne(Channel).mapToPk().name('channel_id').strictNullable().index(),
    createdAt: createdAt().index(),
  },
});

export class Event extends EventSchema.class {}
EventSchema.setClass(Event);
