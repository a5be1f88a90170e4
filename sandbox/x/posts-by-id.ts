import type { SandboxDeps } from '../deps.ts';
import type { Figures } from '../figures.ts';
import { invalid } from './problems.ts';
import { isXPost } from './post.ts';
import { presentText } from './text.ts';
import type { ByIdQuery, PostsById, PublicMetrics } from './wire.ts';

/** X's parameters; true: supported by the sandbox. The compiler checks the list against X's SDK. */
const parameters = {
  ids: true,
  'post.fields': true,
  expansions: false,
  'user.fields': false,
  'media.fields': false,
  'poll.fields': false,
  'place.fields': false,
} as const satisfies Record<ByIdQuery, boolean>;

/** Returns posts by their ids, with public metrics on request. @throws Refusal 400 */
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

/** As in a real response; the type in X's SDK has fewer fields. */
const errorOf = (id: string) => ({
  value: id,
  resource_id: id,
  parameter: 'ids',
  resource_type: 'post',
  title: 'Not Found Error',
  detail: `Could not find post with ids: [${id}].`,
  type: 'https://api.x.com/2/problems/resource-not-found' as const,
});

/** Hidden figures are absent, although X documents that they are always present. */
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
