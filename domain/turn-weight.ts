import { placesPerEndpoint } from './endpoint-health.ts';

/**
 * How many turns a delivery's endpoint gets where deliveries of several wait for a worker: the fewer wait for it, the
 * more, as all but the first few would only find its places taken. It is 1 while no more wait than there are places.
 *
 * @param waiting How many of the endpoint's deliveries are due and not over.
 * @returns above 0 and at most 1.
 */
export const turnWeight = (waiting: number): number =>
  placesPerEndpoint / Math.max(waiting, placesPerEndpoint);
