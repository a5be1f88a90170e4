import { createHash } from 'node:crypto';
import { dropOldest } from './drop-oldest.ts';
import type { Post } from './post.ts';

export const figureNames = [
  'impressions',
  'likes',
  'comments',
  'reposts',
  'quotes',
  'saves',
] as const;

type FigureName = (typeof figureNames)[number];

/** Whole numbers from 0; what is hidden is left out. */
export type Figures = Readonly<Partial<Record<FigureName, number>>>;

/** What a control call says of a post: null hides a figure. */
export type FigureChange = Readonly<Partial<Record<FigureName, number | null>>>;

export type FigureBook = {
  /** What the network tells of a post now. */
  of(post: Post): Figures;
  /** How many follow the demo account; null when the network does not tell. */
  followers(network: string): number | null;
  change(post: Post, change: FigureChange): void;
  setFollowers(network: string, followers: number | null): void;
};

/** At a post's best, in the order of the names. */
const most: Readonly<Record<FigureName, number>> = {
  impressions: 5000,
  likes: 200,
  comments: 30,
  reposts: 40,
  quotes: 8,
  saves: 25,
};

/** After this time a post has half of what it will ever have, in milliseconds. */
const usualHalfLifeMs = 6 * 60 * 60_000;
const usualFollowers = 120;
/** As many as posts are kept. */
const maxChanges = 1000;

/**
 * The figures of all posts: they grow by themselves with a post's age, fast at first, and never fall. The same post has
 * the same figures after a restart; what control calls set is forgotten then.
 *
 * @param now Milliseconds since 1970.
 * @param halfLifeMs In which a post gets half of what it will ever have.
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

/** From 0 to 1, by a post's id: no two posts do equally well. */
const popularityOf = ({ network, id }: Post, name: FigureName): number =>
  createHash('sha256').update(`${network} ${id} ${name}`).digest().readUInt16BE() / 0xff_ff;

const keyOf = ({ network, id }: Post): string => `${network}/${id}`;
