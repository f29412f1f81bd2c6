import type { UseQueryResult } from '@tanstack/react-query'
import type { ComponentProps, ReactNode } from 'react'
import { Section } from './page.tsx'
import { ErrorState, SkeletonRows } from './states.tsx'

interface LoadedProps<Data> {
  query: Pick<UseQueryResult<Data>, 'data' | 'error' | 'refetch'>
  /** What stands for the data while they load: rows, unless given */
  loading?: ReactNode
  rows?: number
  /** The section of what stands for data that bring their own */
  frame?: Omit<ComponentProps<typeof Section>, 'children'>
  children: (data: Data) => ReactNode
}

/** Renders the data of a query, also after a later error; before, that they load or have failed. */
export function Loaded<Data>({
  query: { data, error, refetch },
  rows = 5,
  loading = <SkeletonRows count={rows} />,
  frame,
  children,
}: LoadedProps<Data>) {
  if (data !== undefined) return children(data)
  const state = error ? <ErrorState error={error} onRetry={() => void refetch()} /> : loading
  return frame ? <Section {...frame}>{state}</Section> : state
}
