/** What the chart of days shows. */
export const measures = ['cost', 'hours', 'tokens'] as const

export type Measure = (typeof measures)[number]
