/** Texts of models, which several pages show. */
export const catalog = {
  types: { all: 'All', LLM: 'Chat', embedding: 'Embedding', rerank: 'Reranking' },
  provider: 'Provider',
  family: 'Family',
  size: 'Size',
  license: 'License',
  context: 'Context',
  contextTokens: (tokens: string) => `${tokens} tokens`,
  hardwareUnknown: 'The available hardware is unknown at the moment.',
  onlyOrganization: 'Your organization',
  source: 'Source',
  sizes: 'Sizes',
  formats: 'Formats',
  price: 'Price',
  fits: 'Fits',
  doesNotFit: 'Does not fit',
  needs: (memory: string) => `needs ${memory}`,
  perHour: (price: string) => `${price}/hour`,
  priceUnknown: 'Unknown',
  notFoundTitle: 'Model not found',
  goneTitle: 'This model is no longer in the catalog',
  gone: 'It was deleted, or you are no longer a member of its organization.',
  notFound: 'It may have been removed from the catalog, or the address is wrong.',
  toCatalog: 'Go to the catalog',
  deploy: 'Deploy',
  seeWhy: 'See why',
  seeWhyChoice: (variant: string) => `See why ${variant} does not fit`,
  deployChoice: (variant: string) => `Deploy ${variant}`,
  name: 'Model ID',
  tags: 'Tags',
  variants: 'Variants',
  variantsNote: 'Memory, hardware and price of each variant.',
  whichVariants: 'Show variants',
  recommended: 'Recommended',
  why: (isUsual: boolean, context: string | null) =>
    [
      isUsual ? 'The usual variant, and it fits here.' : 'The closest to the usual variant that fits here.',
      ...(context === null ? [] : [`Requests have up to ${context} tokens of context.`]),
    ].join(' '),
  fitting: (count: number) => `Fit here (${count})`,
  all: (count: number) => `All (${count})`,
  variant: 'Variant',
  /** What a request gets that names only the model */
  defaultVariant: 'Default',
  weightsHere: 'Already here',
  memory: 'Memory',
  runsOn: 'Runs on',
  gpus: (count: number, instanceType: string | null) => {
    // `l4-x1/4` is a share.
    const [, shares] = /\/(\d+)$/.exec(instanceType ?? '') ?? []
    if (shares !== undefined) return `1/${shares} of a GPU’s memory`
    return count === 0 ? 'CPU' : count === 1 ? '1 GPU' : `${count} GPUs`
  },
  alreadyDeployed: 'Already deployed',
  seeAllDeployments: 'See all deployments',
  createdAgo: (when: string) => `requested ${when}`,
  call: 'API',
  callNote:
    'After deployment, any OpenAI client can call the model by its ID. The command sends the session in BERTH_COOKIE.',
  callCode: (model: string) => `command to call ${model}`,
}
