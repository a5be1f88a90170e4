import type { Context } from 'koa';
import { AppError } from '../../domain/errors.ts';
import { isId } from '../../domain/json-schema.ts';
import { nearestName } from '../../runtime/nearest-name.ts';
import type { Route } from './route.ts';

const connect = 'Send POST /api/v1/channels/connect to connect an account.';
const now = 'schedule_in_minutes: 0 to publish now';
const health = '/livez, /readyz and /status are outside of /api/v1.';

const meantBy: readonly (readonly [RegExp, string])[] = [
  [/^POST channels$|(?:^| )(?:channels\/[^\/]+\/)?connect$/v, connect],
  [/^POST posts\/[^\/]+\/duplicate$/v, 'Send POST /api/v1/posts/{id}/copy.'],
  [/ posts\/[^\/]+\/(?:analytics|metrics)$/v, 'Send GET /api/v1/analytics with post_id.'],
  [/ posts\/[^\/]+\/publish$/v, `Send PATCH /api/v1/posts/{id} with ${now}.`],
  [/ (?:posts\/)?publish$/v, `Send POST /api/v1/posts with ${now}.`],
  [/ posts\/[^\/]+\/(?:re)?schedule$/v, 'Send PATCH /api/v1/posts/{id} with scheduled_at.'],
  [/ (?:posts\/)?(?:re)?schedule$/v, 'Send POST /api/v1/posts with scheduled_at.'],
  [/ (?:health|healthz|status)$/v, health],
];

const mostSegments = 6;

/** Describes a call that no route takes. `Allow` has the methods of a known path by now, and is empty on another. */
export function unroutedBy(routes: readonly Route[]): (ctx: Context) => AppError {
  const paths = [...new Set(routes.map(({ path }) => path))].map((path) =>
    path.slice(1).split('/'),
  );
  return (ctx) => {
    const { status, method } = ctx;
    const path = ctx.path || '/'; // It is null for `GET redis://localhost`.
    const given = path
      .split('/', mostSegments + 3)
      .filter((segment) => !/^(?:|api|v\d+)$/iv.test(segment))
      .slice(0, mostSegments);
    const methods = String(ctx.response.get('Allow') ?? '')
      .split(', ')
      .toSorted();
    const call = `${method} ${given.join('/')}`;
    const meant = meantBy.find(([pattern]) => pattern.test(call))?.[1];
    if (status === 404 || methods[0] === '') {
      const next =
        meant ??
        nextStep(given, paths) ??
        'Calls begin with /api/v1 and do not end with a slash; /docs lists them.';
      return new AppError('not_found', `There is no ${method} ${path}. ${next}`);
    }

    const isResource =
      isId(given.at(-1) ?? '') ||
      paths.some((one) => `${one.map(withoutName)}` === `${given.map(withoutId)}`);
    const next = ` ${meant ?? (isResource ? '' : (nextStep(given, paths) ?? ''))}`.trimEnd();
    const message = `${path} does not support ${method}. It supports ${inWords(methods)}.${next}`;
    return new AppError('method_not_allowed', message);
  };
}

const withoutName = (segment: string): string => (segment.startsWith('{') ? '{}' : segment);

const withoutId = (segment: string): string => (isId(segment.toLowerCase()) ? '{}' : segment);

const inWords = (names: readonly string[]): string =>
  names.length > 1 ? `${names.slice(0, -1).join(', ')} and ${names.at(-1)}` : names.join('');

type Paths = readonly (readonly string[])[];

function nextStep(given: readonly string[], paths: Paths): string | undefined {
  for (let length = given.length; length > 0; length -= 1) {
    const found = nearestPath(given.slice(0, length), paths);
    if (found) {
      return `Did you mean /api/v1/${found.join('/')}?`;
    }
  }

  return undefined;
}

/** The first path of this length each of whose segments is near the given one. */
function nearestPath(given: readonly string[], paths: Paths): readonly string[] | undefined {
  let left = paths.filter(({ length }) => length === given.length);
  for (const [index, segment] of given.entries()) {
    const names = left.map((path) => `/${path[index]}`).filter((name) => !name.startsWith('/{'));
    const meant = nearestName(segment, names)?.slice(1);
    const takesId = isId(segment.toLowerCase());
    left = left.filter(
      ({ [index]: name = '' }) => name === meant || (takesId && name.startsWith('{')),
    );
  }

  return left[0];
}
