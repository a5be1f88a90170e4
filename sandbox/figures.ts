import { createHash } from 'node:crypto';
import { dropOldest } from './drop-oldest.ts';
import type { SandboxPost } from './post.ts';

export const figureNames = [
  'impressions',
  'likes',
  'comments',
  'reposts',
  'quotes',
  'saves',
] as const;

type FigureName = (typeof figureNames)[number];

/** Whole numbers from 0; hidden figures are absent. */
export type Figures = Readonly<Partial<Record<FigureName, number>>>;

/** Figures set by a control call: null hides a figure. */
export type FigureChange = Readonly<Partial<Record<FigureName, number | null>>>;

export type FigureBook = {
  /** The figures that the network returns now. */
  of(post: SandboxPost): Figures;
  /** Followers of the demo account; null when the network hides them. */
  followers(network: string): number | null;
  change(post: SandboxPost, change: FigureChange): void;
  setFollowers(network: string, followers: number | null): void;
};

/** The highest figures of a post. */
const most: Readonly<Record<FigureName, number>> = {
  impressions: 5000,
  likes: 200,
  comments: 30,
  reposts: 40,
  quotes: 8,
  saves: 25,
};

/** Age at which a post has half of its final figures, in milliseconds. */
const usualHalfLifeMs = 6 * 60 * 60_000;
const usualFollowers = 120;
/** As many as posts. */
const maxChanges = 1000;

/**
 * Figures of all posts. They grow with a post's age, fast at first, and never fall. The same post has the same figures
 * after a restart, except for those set by control calls.
 *
 * @param now Milliseconds since 1970.
 * @param halfLifeMs Age at which a post has half of its final figures.
 */
export function createFigures(now: () => number, halfLifeMs: number = usualHalfLifeMs): FigureBook {
  const changes = new Map<string, FigureChange>();
  const followers = new Map<string, number | null>();
  return {
    of(post) {
      const ageMs = Math.max(0, now() - Date.parse(post.createdAt));
      const grown = 1 - 2 ** (-ageMs / halfLifeMs);
      const set = changes.get(keyOf(post)) ?? {};
      const told = figureNames.map((name) => {
        const ofItself = Math.floor(most[name] * popularityOf(post, name) * grown);
        return [name, set[name] === undefined ? ofItself : set[name]] as const;
      });
      return Object.fromEntries(told.filter(([, count]) => count !== null));
    },
    followers: (network) => {
      const set = followers.get(network);
      return set === undefined ? usualFollowers : set;
    },
    change(post, change) {
      const key = keyOf(post);
      changes.set(key, { ...changes.get(key), ...change });
      dropOldest(changes, maxChanges);
    },
    setFollowers: (network, count) => {
      followers.set(network, count);
    },
  };
}

/** From 0 to 1, derived from a post's id. */
const popularityOf = ({ network, id }: SandboxPost, name: FigureName): number =>
  createHash('sha256').update(`${network} ${id} ${name}`).digest().readUInt16BE() / 0xff_ff;

const keyOf = ({ network, id }: SandboxPost): string => `${network}/${id}`;
