import type { SandboxDeps } from '../deps.ts';
import type { Figures } from '../figures.ts';
import { invalid } from './problems.ts';
import { isXPost } from './post.ts';
import { presentText } from './text.ts';
import type { ByIdQuery, PostsById, PublicMetrics } from './wire.ts';

/** What X knows; the compiler holds the list against X's kit. */
const parameters = {
  ids: true,
  'post.fields': true,
  expansions: false,
  'user.fields': false,
  'media.fields': false,
  'poll.fields': false,
  'place.fields': false,
} as const satisfies Record<ByIdQuery, boolean>;

/** Posts by their ids, with their public metrics where these are asked for. @throws Refusal 400 */
export function postsById(
  { store, figures }: Pick<SandboxDeps, 'store' | 'figures'>,
  query: URLSearchParams,
): PostsById {
  for (const name of query.keys()) {
    if (!Object.hasOwn(parameters, name) || !parameters[name as ByIdQuery]) {
      throw invalid(
        `The query parameter [${name}] is not one of [${Object.keys(parameters).join(',')}]`,
      );
    }
  }
  const ids = (query.get('ids') ?? '').split(',');
  if (ids.length > 100 || ids.some((id) => !/^\d{1,19}$/v.test(id))) {
    throw invalid('The ids query parameter takes from 1 to 100 ids of posts');
  }

  const tellsMetrics = (query.get('post.fields') ?? '').split(',').includes('public_metrics');
  const found = ids.map((id) => ({ id, post: store.find('x', id) }));
  const data = found.flatMap(({ id, post }) =>
    isXPost(post) && !store.isHidden(post)
      ? [
          {
            id,
            text: presentText(post).text,
            ...(tellsMetrics && { public_metrics: presentMetrics(figures.of(post)) }),
          },
        ]
      : [],
  );
  const errors = found
    .filter(({ id }) => !data.some((post) => post.id === id))
    .map(({ id }) => errorOf(id));
  return { ...(data.length > 0 && { data }), ...(errors.length > 0 && { errors }) };
}

/** As in a real answer; X's kit knows less of it. */
const errorOf = (id: string) => ({
  value: id,
  resource_id: id,
  parameter: 'ids',
  resource_type: 'post',
  title: 'Not Found Error',
  detail: `Could not find post with ids: [${id}].`,
  type: 'https://api.x.com/2/problems/resource-not-found' as const,
});

/** What is hidden is left out, although X's document says that it never does. */
const presentMetrics = (figures: Figures): PublicMetrics =>
  JSON.parse(
    JSON.stringify({
      repost_count: figures.reposts,
      reply_count: figures.comments,
      like_count: figures.likes,
      quote_count: figures.quotes,
      bookmark_count: figures.saves,
      impression_count: figures.impressions,
    }),
  );
