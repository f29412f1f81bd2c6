import type { UseQueryResult } from '@tanstack/react-query'
import type { Placements } from '../../contract.ts'
import { Button } from '../../components/button.tsx'
import { describeError, Notice } from '../../components/states.tsx'
import { text } from '../../text/index.ts'

/** Shows why placements failed to load, with a button to retry. */
export function PlacementsError({
  placements,
}: {
  placements: Pick<UseQueryResult<Placements>, 'error' | 'refetch'>
}) {
  return (
    <Notice
      tone="warn"
      title={text.catalog.hardwareUnknown}
      action={
        <Button size="small" onClick={() => void placements.refetch()}>
          {text.common.tryAgain}
        </Button>
      }
    >
      {describeError(placements.error)}
    </Notice>
  )
}
