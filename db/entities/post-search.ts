import { defineEntity, p } from '@mikro-orm/core';
import { Post } from './posts.ts';
import { Workspace } from './workspaces.ts';

/** What `GET /posts` searches by words and tags. Only triggers write it. */
export const PostSearchSchema = defineEntity({
  name: 'PostSearch',
  tableName: 'post_search',
  indexes: [
    {
      name: 'post_search_terms',
      expression:
        'create index "post_search_terms" on "post_search" using gin ("terms") with (gin_pending_list_limit = 1024)',
    },
  ],
  properties: {
    postId: () =>
      p
        .manyToOne(Post)
        .mapToPk()
        .name('post_id')
        .primary()
        .deleteRule('cascade')
        .updateRule('no action'),
    workspaceId: () =>
      p.manyToOne(Workspace).mapToPk().name('workspace_id').index(false).updateRule('no action'),
    /** As the function `index_post` makes them. */
    terms: p.text().columnType('tsvector'),
  },
});
