import type { Router } from '@koa/router';
import type { Figures } from '../figures.ts';
import type { SandboxDeps } from '../deps.ts';
import { accessIn } from '../oauth/access.ts';
import { members, pageUrn, urnOf } from './account.ts';
import { assertQuery } from './check-fields.ts';
import type { Guards } from './guards.ts';
import { isLinkedinPost, type LinkedinPost } from './post.ts';
import { accessDenied, invalid, notFound } from './refusals.ts';

/** Figures of posts and followers, for the few apps with access. */
export function addFigureRoutes(router: Router, deps: SandboxDeps, guards: Guards): void {
  addPostFigures(router, deps, guards);
  addFollowers(router, deps, guards);
}

function findPost({ store }: SandboxDeps, urn: string): LinkedinPost | undefined {
  const post = store.find('linkedin', urn);
  return isLinkedinPost(post) && !store.isHidden(post) ? post : undefined;
}

function addPostFigures(router: Router, deps: SandboxDeps, { versioned, partner }: Guards): void {
  const { figures } = deps;
  const analytics = partner('memberCreatorPostAnalytics.FINDER-entity');
  router.get('/rest/memberCreatorPostAnalytics', versioned, analytics, (ctx) => {
    const { searchParams: query } = ctx.URL;
    assertQuery(query, 'q', 'entity', 'queryType', 'aggregation');
    const urn = /^\((?:share:urn:li:share|ugc:urn:li:ugcPost):(?<id>\d+)\)$/v
      .exec(query.get('entity') ?? '')?.[0]
      .replace(/^\((?:share|ugc):|\)$/gv, '');
    const type = query.get('queryType') ?? '';
    if (urn === undefined || query.get('q') !== 'entity' || !Object.hasOwn(countOf, type)) {
      throw invalid('The parameters q, entity and queryType name one post and one metric');
    }
    const post = findPost(deps, urn);
    const isOwn = post?.author === urnOf(members[accessIn(ctx).account]);
    const count = post && isOwn ? countOf[type]?.(figures.of(post)) : undefined;
    const metricType = {
      'com.linkedin.adsexternalapi.memberanalytics.v1.CreatorPostAnalyticsMetricTypeV1': type,
    };
    ctx.body = {
      paging: { start: 0, count: 10, links: [] },
      elements: count === undefined ? [] : [{ count, metricType, targetEntity: { share: urn } }],
    };
  });

  const statistics = partner('organizationalEntityShareStatistics.FINDER-organizationalEntity');
  router.get('/rest/organizationalEntityShareStatistics', versioned, statistics, (ctx) => {
    const { searchParams: query } = ctx.URL;
    assertQuery(query, 'q', 'organizationalEntity', 'shares', 'ugcPosts');
    if (query.get('organizationalEntity') !== pageUrn || accessIn(ctx).account !== 'demo') {
      throw accessDenied('organizationalEntityShareStatistics');
    }
    const listed = ['shares', 'ugcPosts'].flatMap((name) =>
      (/^List\((?<urns>.*)\)$/v.exec(query.get(name) ?? '')?.groups?.['urns'] ?? '').split(','),
    );
    const posts = listed.flatMap((urn) => findPost(deps, urn) ?? []);
    ctx.body = {
      paging: { start: 0, count: 10, links: [] },
      elements: posts
        .filter(({ author }) => author === pageUrn)
        .map((post) => presentStatistics(post, figures.of(post))),
    };
  });

  const reading = partner('partnerApiPostsExternal.GET');
  router.get('/rest/posts/:urn', versioned, reading, (ctx) => {
    const post = findPost(deps, ctx.params['urn'] ?? '');
    if (post === undefined) {
      throw notFound('entity');
    }
    ctx.body = { id: post.id, author: post.author, lifecycleState: 'PUBLISHED' };
  });
}

function addFollowers(
  router: Router,
  { figures }: SandboxDeps,
  { versioned, partner }: Guards,
): void {
  const sizes = partner('networkSizes.GET');
  router.get('/rest/networkSizes/:urn', versioned, sizes, (ctx) => {
    ctx.body = { firstDegreeSize: figures.followers('linkedin') ?? undefined };
  });

  const followers = partner('memberFollowersCount.FINDER-me');
  router.get('/rest/memberFollowersCount', versioned, followers, (ctx) => {
    assertQuery(ctx.URL.searchParams, 'q');
    const memberFollowersCount = figures.followers('linkedin');
    ctx.body = { elements: memberFollowersCount === null ? [] : [{ memberFollowersCount }] };
  });
}

const sharesOf = ({ reposts, quotes }: Figures): number | undefined =>
  reposts === undefined ? undefined : reposts + (quotes ?? 0);

const countOf: Readonly<Record<string, (figures: Figures) => number | undefined>> = {
  IMPRESSION: ({ impressions }) => impressions,
  REACTION: ({ likes }) => likes,
  COMMENT: ({ comments }) => comments,
  RESHARE: sharesOf,
  POST_SAVE: ({ saves }) => saves,
};

const presentStatistics = ({ id }: LinkedinPost, figures: Figures) => ({
  [id.startsWith('urn:li:share:') ? 'share' : 'ugcPost']: id,
  organizationalEntity: pageUrn,
  totalShareStatistics: {
    impressionCount: figures.impressions,
    likeCount: figures.likes,
    commentCount: figures.comments,
    shareCount: sharesOf(figures),
    clickCount: 0,
    engagement: 0,
  },
});
