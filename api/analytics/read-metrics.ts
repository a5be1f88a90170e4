import { metricNames } from '../../networks/metrics.ts';

/** Of stored figures only what the contract has a name for, in its order. What a network does not tell stays absent. */
export const metricsOf = (stored: Readonly<Record<string, unknown>>): Record<string, number> =>
  Object.fromEntries(
    metricNames.flatMap((name) => {
      const value = stored[name];
      return typeof value === 'number' ? [[name, value]] : [];
    }),
  );
