import { defineEntity, p } from '@mikro-orm/core';
import { MediaFile } from './media-file.ts';
import { Post } from './post.ts';
import { Workspace } from './workspace.ts';

export const PostMediaSchema = defineEntity({
  name: 'PostMedia',
  tableName: 'post_media',
  primaryKeys: ['postId', 'mediaId', 'part'],
  properties: {
    workspaceId: () => p.manyToOne(Workspace).mapToPk().name('workspace_id'),
    postId: () =>
      p
        .manyToOne(Post)
        .mapToPk()
        .name('post_id')
        .primary()
        .updateRule('no action')
        .deleteRule('no action'),
    mediaId: () =>
      p
        .manyToOne(MediaFile)
        .mapToPk()
        .name('media_id')
        .primary()
        .index()
        .updateRule('no action')
        .deleteRule('no action'),
    /** Part of the thread, from 0; -1 for a file of a channel's option. */
    part: p.integer().primary().default(0),
    /** Position among the post's files, from 0. */
    position: p.integer(),
    /** Alt text for this post only, instead of the file's. */
    altText: p.text().strictNullable(),
    /** Whether it came from `media_urls`. An edit replaces these separately from those of `media_ids`. */
    fromUrl: p.boolean(),
  },
});

/** A file of a post. */
export class PostMedia extends PostMediaSchema.class {}
PostMediaSchema.setClass(PostMedia);
