/** The ranking of documents in the playground. */
export const rerank = {
  none: 'Deploy a reranking model',
  noneHint: 'Rank documents by their relevance to a query with a deployed reranking model.',
  request: 'Query and documents',
  query: 'Query',
  documents: 'Documents',
  documentsHint: 'One per line.',
  rank: 'Rank',
  ranking: 'Ranking',
  notRanked: 'No ranking yet',
  notRankedHint: 'Rank the documents to see the most relevant first.',
  relevanceOf: (n: number) => `Relevance of document ${n}`,
  exampleQuery: 'Where do ships unload?',
  exampleDocuments: [
    'A harbour has cranes for containers.',
    'The desert is dry for most of the year.',
    'Pilots guide large vessels to their berth.',
  ],
}
