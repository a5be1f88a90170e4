import type { EgressOptions } from '../../runtime/egress/create-egress.ts';

/**
 * No name has an address, and nothing that is dialled answers. The fuzzer makes up URLs, some of them with public
 * addresses in them, and must not speak to anybody but the API.
 */
export const noWayOut: Required<Pick<EgressOptions, 'resolve' | 'connect'>> = {
  resolve: async () => [],
  connect: (_options, callback) => {
    const refused = Object.assign(new Error('There is no way out.'), { code: 'ECONNREFUSED' });
    setImmediate(() => callback(refused, null));
  },
};
