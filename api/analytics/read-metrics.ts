import { metricNames } from '../../networks/metrics.ts';

/**
 * Returns the stored metrics that the contract names, in its order. Metrics that a network does not report are absent.
 */
export const metricsOf = (stored: Readonly<Record<string, unknown>>): Record<string, number> =>
  Object.fromEntries(
    metricNames.flatMap((name) => {
      const value = stored[name];
      return typeof value === 'number' ? [[name, value]] : [];
    }),
  );
