const nothing = (): Promise<void> => Promise.resolve();

/** What the bare workflows call. */
export const emptyActivities = { claim: nothing, step: nothing, finalize: nothing };
