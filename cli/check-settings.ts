import { openNetworks } from '../networks/registry.ts';
import { readSettingsOrExit } from '../runtime/config/read-settings.ts';
import { readConfig } from '../runtime/config.ts';
import { temporalOptions } from '../temporal/settings.ts';

// Names all settings that are wrong before anything is started: `npm start` runs this.

readSettingsOrExit(process.env, {
  config: readConfig,
  networks: openNetworks,
  temporal: temporalOptions,
});
