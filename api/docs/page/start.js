// Runs in the browser. The API key that is typed in stays in this page's memory and is gone after a reload.
const { nonce } = document.currentScript;

// Parts of the renderer make style elements without the nonce, which the policy of the page would block.
const { createElement } = document;
document.createElement = function createWithNonce(name, options) {
  const element = createElement.call(document, name, options);
  if (name === 'style') {
    element.nonce = nonce;
  }

  return element;
};

// Otherwise a part of it tries whether the policy allows eval, which it does not.
// oxlint-disable-next-line no-underscore-dangle -- The library's name.
globalThis.__zod_globalConfig = { jitless: true };

document.addEventListener('DOMContentLoaded', () => {
  globalThis.Scalar.createApiReference('#docs', {
    url: '/openapi.json',
    nonce,
    // Nothing leaves this page but calls of the API.
    withDefaultFonts: false,
    telemetry: false,
    agent: { disabled: true },
    mcp: { disabled: true },
    persistAuth: false,
    showDeveloperTools: 'never',
    hideClientButton: true,
    hiddenClients: true,
    documentDownloadType: 'none',
    hideModels: true,
    orderSchemaPropertiesBy: 'preserve',
    authentication: { preferredSecurityScheme: 'apiKey' },
    // Scalar's own colours have too little contrast.
    customCss: `
      .light-mode { --scalar-color-3: #6b6b6b; --scalar-color-green: #00764a; --scalar-color-yellow: #855700; --scalar-color-red: #c70000; --scalar-color-orange: #a84600; }
      .dark-mode { --scalar-color-3: #949494; --scalar-color-red: #ff6b6b; }`,
    // Our pages link to calls by these.
    generateTagSlug: ({ name }) => name.toLowerCase(),
    generateOperationSlug: ({ operationId }) => operationId,
  });
});
