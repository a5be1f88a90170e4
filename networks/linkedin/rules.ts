import { flag, having, type Json, type Value } from '../../domain/json-schema.ts';
import { answerReader } from '../answer.ts';
import {
  defineOptions,
  linkCardOption,
  type AttachmentFacts,
  type Limits,
  type Rules,
} from '../content-rules.ts';
import { pathOn, type PostPages, type ProfileUrl } from '../network-entry.ts';
import { commentFaults, sentences, validateByLimits } from '../validation/content.ts';
import { animatedFormat, isVideo, nameOf } from '../validation/files.ts';
import { asOnePost } from '../validation/texts.ts';

const limits: Limits = {
  name: 'LinkedIn',
  text: [
    {
      max: 3000,
      unit: 'characters',
      linkLength: null,
      emoji: '2 or more',
      // Measured on the plain text: the escapes of `littleText` do not count.
      counting: 'UTF-16 code units, the strictest reading of "characters".',
      measure: ({ length }) => length,
    },
  ],
  files: [
    {
      one: 'image',
      max: 20,
      types: ['image/jpeg', 'image/png', 'image/gif'],
      maxPixels: 36_152_319,
      // Documented for GIFs.
      maxFrames: 250,
      maxAltText: 4086,
    },
    // LinkedIn documents 75 KB and 500 MB without defining the units, so the wider reading is used.
    {
      one: 'video',
      max: 1,
      types: ['video/mp4'],
      minBytes: 75_000,
      maxBytes: 500 * 1024 * 1024,
      minDurationMs: 3000,
      maxDurationMs: 30 * 60_000,
    },
  ],
};

/** In UTF-16 code units, the strictest reading of "characters". */
const maxCommentLength = 1250;

/**
 * Sources: https://learn.microsoft.com/linkedin/marketing/community-management/shares/posts-api,
 * https://learn.microsoft.com/linkedin/marketing/community-management/shares/comments-api
 */
const { schema, chosenIn } = defineOptions({
  visibility: {
    type: 'string',
    enum: ['PUBLIC', 'CONNECTIONS'],
    description:
      "Who may see the post: everybody, or the member's connections. Default: `PUBLIC`; the page of an organisation accepts nothing else.",
  },
  first_comment: {
    type: 'string',
    maxLength: maxCommentLength,
    description:
      "Written below the post by the same account after publication. An empty text leaves out the default. LinkedIn allows comments only to apps of its Community Management API; with another app's token the post is published and the comment fails.",
  },
  link_card: linkCardOption,
});

export { chosenIn };

export const rules: Rules = {
  threads: false,
  comments: true,
  options: schema,
  // A request begins within 10 s of its intent and times out after 30 s; the rest is for LinkedIn.
  canUnpublish: true,
  appearsWithinMs: 60_000,
  // A member's post takes five requests, one per metric.
  metricsEveryMs: 6 * 60 * 60_000,
  limits: () => limits,
  validate(content, settings) {
    const post = asOnePost(content);
    const result = validateByLimits(post, limits, { fileWarnings });
    const { visibility = 'PUBLIC', first_comment: comment } = chosenIn(post.options);
    const errors = sentences(
      linkedinSettings(settings).isOrganization &&
        visibility !== 'PUBLIC' &&
        `The page of an organisation has no connections: its visibility on LinkedIn must be PUBLIC, not ${visibility}.`,
    );
    const ofComment = comment ? commentFaults('LinkedIn', comment, maxCommentLength) : [];
    return { ...result, errors: [...result.errors, ...errors, ...ofComment] };
  },
};

const fileWarnings = (file: AttachmentFacts): string[] =>
  sentences(
    animatedFormat(file) === 'PNG' &&
      `LinkedIn plays only GIFs as animations, and ${nameOf(file)} is an animated PNG: it may become a still image.`,
    isVideo(file) &&
      file.altText !== null &&
      `LinkedIn has no alt text for videos: that of ${nameOf(file)} is left out.`,
  );

export const linkedinApiUrl = 'https://api.linkedin.com';

/** The website for posts of an API: the sandbox shows its own. */
export const linkedinWebUrl = (apiUrl: string): string =>
  apiUrl === linkedinApiUrl ? defaults.webUrl : apiUrl;

const settingsSchema = having({
  isOrganization: flag,
  /** Base URL of the website that shows the posts, without a trailing slash. */
  webUrl: { type: 'string', pattern: '^https?://' },
});

export type LinkedinSettings = Value<typeof settingsSchema>;

const defaults: LinkedinSettings = { isOrganization: false, webUrl: 'https://www.linkedin.com' };

const readSettings = answerReader<Partial<LinkedinSettings>>({ ...settingsSchema, required: [] });

export const linkedinSettings = (settings: Json): LinkedinSettings => ({
  ...defaults,
  ...readSettings(settings),
});

/** The page of an organisation. LinkedIn's API does not reveal the URL of a member's profile. */
export const profileUrl: ProfileUrl = ({ remoteId, settings }) => {
  const id = /^urn:li:organization:(?<id>\d+)$/v.exec(remoteId)?.groups?.['id'];
  return id === undefined ? null : `${linkedinSettings(settings).webUrl}/company/${id}/`;
};

const postPaths = [
  /^\/feed\/update\/urn:li:(?<kind>share|ugcPost|activity):(?<id>\d{1,20})\/?$/v,
  /^\/posts\/[^\/]*-(?<kind>share|ugcPost|activity)-(?<id>\d{1,20})(?:-[\w\-]+)?\/?$/v,
];

const commentUrn =
  /^urn:li:comment:\((?:urn:li:)?(?<post>(?:share|ugcPost|activity):\d{1,20}),(?<id>\d{1,20})\)$/v;

/** Any post of LinkedIn: no address names the account. */
export const postPages: PostPages = {
  idAt: ({ settings }, url, part) => {
    const path = (pathOn(linkedinSettings(settings).webUrl, url) ?? '').replaceAll(/%3a/giv, ':');
    const found = postPaths.map((pattern) => pattern.exec(path)?.groups).find((groups) => groups);
    if (!found) {
      return null;
    }

    if (part > 0) {
      const { post, id } = commentUrn.exec(url.searchParams.get('commentUrn') ?? '')?.groups ?? {};
      return id === undefined ? null : { id: `urn:li:comment:(urn:li:${post},${id})` };
    }

    // LinkedIn's API deletes and measures shares and ugcPosts only, and nothing tells which one an activity shows.
    return { id: found['kind'] === 'activity' ? null : `urn:li:${found['kind']}:${found['id']}` };
  },
  example: ({ settings }, part) => {
    const post = `${linkedinSettings(settings).webUrl}/feed/update/urn:li:share:{id}/`;
    return part > 0 ? `${post}?commentUrn=urn:li:comment:(share:{id},{id})` : post;
  },
};
