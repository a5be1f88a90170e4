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
    /** Of the thread, from 0; -1 for a file that an option of a channel names. */
    part: p.integer().primary().default(0),
    /** The order in which the files of the post were given, from 0. */
    position: p.integer(),
    /** For this post only, instead of the file's own. */
    altText: p.text().strictNullable(),
    /** Whether it came by `media_urls`: an edit replaces these and those of `media_ids` apart. */
    fromUrl: p.boolean(),
  },
});

/** A file that a post publishes. */
export class PostMedia extends PostMediaSchema.class {}
PostMediaSchema.setClass(PostMedia);
