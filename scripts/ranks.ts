/** In which order the parts of `npm start` end. Those that work come first, what they rest on last. */
export const ranks = { work: 0, sandbox: 1, temporal: 2, postgres: 3 } as const;
