import twitterText from '../../runtime/twitter-text.ts';
import { textSetting as readText, type Env } from '../../runtime/config/settings.ts';
import {
  defineOptions,
  type AttachmentFacts,
  type Content,
  type Limits,
  type Rules,
} from '../content-rules.ts';
import { sentences, validateByLimits } from '../validation/content.ts';
import { animatedFormat, isImage, isVideo, nameOf } from '../validation/files.ts';
import { hasLink, weightedLength } from './weighted-length.ts';

const maxCashtags = 1;

/** X counts a MB as 1024 × 1024 bytes. Source: https://docs.x.com/x-api/media/quickstart/best-practices */
const megabyte = 1024 * 1024;

const maxFrameRate = 60;

const limits: Limits = {
  name: 'X',
  text: [
    {
      max: 280,
      unit: 'characters',
      linkLength: 23,
      emoji: '2',
      counting:
        "Weighted as by X's library twitter-text: most characters count 1, emoji and those of Chinese, Japanese and Korean 2, and every link 23.",
      measure: weightedLength,
    },
  ],
  files: [
    {
      one: 'image',
      max: 4,
      types: ['image/jpeg', 'image/png', 'image/webp'],
      maxBytes: 5 * megabyte,
      minSide: 4,
      maxSides: [8192, 8192],
      maxAltText: 1000,
    },
    {
      one: 'GIF',
      max: 1,
      types: ['image/gif'],
      maxBytes: 15 * megabyte,
      maxSides: [1280, 1080],
      maxFrames: 350,
      maxPixelsOfAllFrames: 300_000_000,
      maxAltText: 1000,
    },
    {
      one: 'video',
      max: 1,
      types: ['video/mp4', 'video/quicktime'],
      maxBytes: 8 * 1024 * megabyte,
      maxFrameRate,
      minDurationMs: 500,
      // The limit without Premium; Premium accounts may post 125 minutes.
      maxDurationMs: 20 * 60_000,
      maxAspect: 3,
    },
  ],
};

/** The names are X's own. Source: https://docs.x.com/x-api/posts/create-post */
const { schema, chosenIn } = defineOptions({
  made_with_ai: {
    type: 'boolean',
    description: 'Labels every post of the thread as containing media made by AI.',
  },
  paid_partnership: {
    type: 'boolean',
    description: 'Labels every post of the thread as a paid partnership (advertising).',
  },
});

export { chosenIn };

/** @param readEveryHours The operator's interval between reads of a post's metrics, which X charges too. */
export const xRules = (prices: Prices, readEveryHours: number): Rules => ({
  threads: true,
  options: schema,
  // X documents no bound. Proxies wait up to 60 s for a server's response (nginx' default).
  canUnpublish: true,
  appearsWithinMs: 60_000,
  metricsEveryMs: readEveryHours * 60 * 60_000,
  limits: () => limits,
  validate(content) {
    const result = validateByLimits(content, limits, {
      text: contentFaults,
      fileErrors,
      fileWarnings,
    });
    if (result.errors.length > 0) {
      return result;
    }

    const warnings = [...result.warnings, ...duplicateWarnings(content)];
    return { ...result, warnings, priceUsd: priceOf(content, prices) };
  },
});

/** X refuses a text that the account posted shortly before, unless a link to its files makes it different. */
function duplicateWarnings({ texts, media }: Content): string[] {
  const bare = texts.map((text, index) => ((media[index] ?? []).length > 0 ? '' : text.trim()));
  return bare.flatMap((text, index) => {
    const first = bare.indexOf(text);
    return text !== '' && first < index
      ? [`X may refuse part ${index + 1} as a duplicate: it says the same as part ${first + 1}.`]
      : [];
  });
}

/** Only for texts of a limited length, because the library's patterns may be slow. */
function contentFaults(text: string): readonly string[] {
  const cashtags = twitterText.extractCashtags(text).map((tag) => `$${tag}`);
  const invalid = /[\uFFFE\uFEFF\uFFFF]/.exec(text)?.[0].charCodeAt(0).toString(16).toUpperCase();
  return sentences(
    cashtags.length > maxCashtags &&
      `X takes at most ${maxCashtags} cashtag in a post, and this has ${cashtags.length}: ${cashtags.join(', ')}.`,
    invalid !== undefined &&
      `X refuses texts with the invisible character U+${invalid}, and this one contains it.`,
  );
}

/**
 * Properties for which X refuses an image ("media type unrecognized") or, according to its guide, a video.
 *
 * Sources: https://docs.x.com/x-api/media/quickstart/best-practices,
 * https://docs.x.com/x-api/fundamentals/data-dictionary
 */
function fileErrors(file: AttachmentFacts): string[] {
  const name = nameOf(file);
  const {
    chroma,
    pixelAspect = 1,
    audioCodec,
    audioProfile,
    audioChannels = 0,
  } = videoDetails(file);
  const isOtherSound =
    (audioCodec !== undefined && audioCodec !== 'aac') || highEfficiency.has(audioProfile ?? '');
  return sentences(
    animatedFormat(file) === 'PNG' &&
      `X takes animations as GIF only, and ${name} is an animated PNG.`,
    chroma !== undefined &&
      chroma !== '4:2:0' &&
      `X takes videos in YUV 4:2:0 only, and ${name} is in ${chroma}. Encode it as yuv420p.`,
    Math.abs(pixelAspect - 1) > squareWithin &&
      `X takes videos with square pixels only, and a pixel of ${name} is ${rounded(pixelAspect)} times as wide as high.`,
    isOtherSound &&
      `X takes videos with sound in AAC-LC only, and that of ${name} is ${soundOf(file)}.`,
    audioChannels > 2 &&
      `X takes videos with sound in mono or stereo only, and ${name} has ${audioChannels} channels.`,
  );
}

/** Properties that X's guide advises against or does not mention. */
function fileWarnings(file: AttachmentFacts): string[] {
  const name = nameOf(file);
  const { altText } = file;
  const [width, height] = [file.width ?? 0, file.height ?? 0];
  const isLarge =
    Math.max(width, height) > largestVideo[0] || Math.min(width, height) > largestVideo[1];
  const { frameRate = 0, bitDepth = 8, videoCodec = 'avc' } = videoDetails(file);
  return isVideo(file)
    ? sentences(
        isLarge &&
          `X may refuse ${name}: it is made for videos of up to ${largestVideo.join(' × ')} pixels, and this has ${width} × ${height}.`,
        frameRate > maxFrameRate &&
          Math.floor(frameRate) === maxFrameRate &&
          `X may refuse ${name}: a video may have up to ${maxFrameRate} frames per second, and this has ${rounded(frameRate)}.`,
        bitDepth > 8 &&
          `X may refuse ${name}: it is made for videos of 8 bits, and this has ${bitDepth}.`,
        videoCodec !== 'avc' &&
          `X may refuse ${name}: it is made for videos in H.264, and this is in ${videoCodec}.`,
        Boolean(altText) && `X shows no alt text of videos: that of ${name} is left out.`,
      )
    : sentences(
        animatedFormat(file) === 'WebP' &&
          `X plays only GIFs as animations, and ${name} is an animated WebP.`,
      );
}

/** In pixels. X's guide says 1280 × 1024, but X accepts 1080p from some accounts. */
const largestVideo = [1920, 1200] as const;

/** High Efficiency MPEG-4 audio, version 1 and version 2. */
const highEfficiency = new Set(['mp4a.40.5', 'mp4a.40.29']);

/** Tolerance, because encoders round the pixel aspect ratio when they scale a video. */
const squareWithin = 0.01;

const videoDetails = (file: AttachmentFacts) => (isVideo(file) ? (file.details ?? {}) : {});

const soundOf = ({ details }: AttachmentFacts): string =>
  highEfficiency.has(details?.audioProfile ?? '') ? 'HE-AAC' : (details?.audioCodec ?? '');

const rounded = (value: number): number => Math.round(value * 1000) / 1000;

/** X's charges to the publishing app, in US dollars per post; 0 for none. */
type Prices = { readonly post: number; readonly linkPost: number };

/** As of 20 April 2026. Source: https://docs.x.com/x-api/getting-started/pricing */
const listPrices: Prices = { post: 0.015, linkPost: 0.2 };

const altTextPrice = 0.005;

export const readPrices = (env: Env, problems: string[]): Prices => ({
  post: dollars(env, 'PUNCTUAL_X_PRICE_POST', listPrices.post, problems),
  linkPost: dollars(env, 'PUNCTUAL_X_PRICE_LINK_POST', listPrices.linkPost, problems),
});

function dollars(env: Env, name: string, otherwise: number, problems: string[]): number {
  const given = readText(env, name, String(otherwise));
  if (!/^\d{1,4}(?:\.\d{1,4})?$/v.test(given)) {
    problems.push(`${name} must be an amount of US dollars such as ${otherwise}, not "${given}".`);
  }

  return Number(given);
}

function priceOf({ texts, media }: Pick<Content, 'texts' | 'media'>, prices: Prices): number {
  const posts = Math.max(1, texts.length);
  const linked = texts.filter((text) => hasLink(text)).length;
  // Alt texts of videos are not published.
  const described = media.flat().filter((file) => isImage(file) && file.altText).length;
  const isFree = prices.post === 0 && prices.linkPost === 0;
  const price =
    linked * prices.linkPost +
    (posts - linked) * prices.post +
    (isFree ? 0 : described * altTextPrice);
  return Math.round(price * smallestParts) / smallestParts;
}

/** Prices have four decimals; sums of them, as binary fractions, have more. */
const smallestParts = 10_000;
