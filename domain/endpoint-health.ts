/** An endpoint that took nothing for so long is disabled, in milliseconds: at the next delivery that fails for good. */
export const disableAfterMs = 5 * 24 * 3_600_000;

/** How many requests may be under way to one endpoint at a time, over all workers. */
export const placesPerEndpoint = 4;

/** `failing`: by the service, as nothing was taken for five days. `requested`: by its owner. */
export const disabledReasons = ['failing', 'requested'] as const;
export type DisabledReason = (typeof disabledReasons)[number];
