/** The environment in which Open WebUI runs without downloads and without its own requests. */
export const openWebUiEnvironment = {
  WEBUI_SECRET_KEY: 'test',
  OFFLINE_MODE: 'true',
  HF_HUB_OFFLINE: '1',
  BYPASS_EMBEDDING_AND_RETRIEVAL: 'true',
  RAG_EMBEDDING_ENGINE: 'openai',
  OMP_NUM_THREADS: '1',
  DEFAULT_MODEL_PARAMS: '{"temperature":0}',
  // Its own tools are longer than the context of the bundled model.
  DEFAULT_MODEL_METADATA: '{"capabilities":{"builtin_tools":false}}',
  // Its requests for titles and tags would be in the bill.
  ENABLE_TITLE_GENERATION: 'False',
  ENABLE_TAGS_GENERATION: 'False',
  ENABLE_FOLLOW_UP_GENERATION: 'False',
} as const

/** Sends JSON to Open WebUI. */
export function askOpenWebUi(url: string, path: string, body: object, token = ''): Promise<Response> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
  return fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
}
