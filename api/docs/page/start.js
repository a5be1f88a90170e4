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
    // Our pages link to calls by these.
    generateTagSlug: ({ name }) => name.toLowerCase(),
    generateOperationSlug: ({ operationId }) => operationId,
  });
});
