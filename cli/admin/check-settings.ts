import { openNetworks } from '../../networks/registry.ts';
import { readConfig } from '../../runtime/config/read-config.ts';
import { readSettingsOrExit } from '../../runtime/config/settings.ts';
import { temporalOptions } from '../../temporal/settings.ts';

// `npm start` runs this to report all invalid settings before it starts anything. Its own Temporal needs no settings.

const temporal = process.env['TEMPORAL_ADDRESS']?.trim() ? { temporal: temporalOptions } : {};
readSettingsOrExit(process.env, { config: readConfig, networks: openNetworks, ...temporal });
