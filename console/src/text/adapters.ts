/** Texts of LoRAs. */
export const adapters = {
  title: 'LoRAs',
  note: (model: string) =>
    `LoRAs (low-rank adapters) change the answers of ${model} for the requests that name them. A new one needs an engine that starts with it; until then the model serves as before.`,
  served: 'LoRAs that the deployment serves',
  available: 'LoRAs that you can add',
  facts: (rank: number, size: string, state: string) => `Rank ${rank} · ${size} · ${state}`,
  ready: 'Ready',
  starting: 'Ready after the next start of the engine',
  add: 'Add',
  remove: 'Remove',
  of: (action: string, name: string) => `${action} ${name}`,
  inPlayground: (name: string) => `Open in playground: ${name}`,
  base: 'Base model',
  baseHint: 'The model of the catalog that the LoRA changes. Check again after you chose another.',
  baseOfFiles: 'The one that the files name',
  adapterOf: 'LoRA of',
  adapterNote: (base: string) => `A deployment of ${base} serves it: add it on the page of the deployment.`,
  inspected: (base: string, rank: number) => `LoRA of ${base} · Rank ${rank}`,
  servedBy: (base: string) => `A deployment of ${base} can serve it`,
}
