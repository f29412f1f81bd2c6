import { X } from 'lucide-react'
import { Suspense, useState } from 'react'
import { Button } from '../../../components/button.tsx'
import type { Deployment } from '../../../contract.ts'
import { useAccessJudge } from '../../../domain/deployments/use-access.ts'
import { lazyPart } from '../../../routing/lazy-part.ts'
import { text } from '../../../text/index.ts'
import { acts, judgeAct } from './judge-act.ts'
import type { Act } from './judge-act.ts'
import type { Selection } from './select-box.tsx'

const words = text.bulk

const BulkDialog = lazyPart(() => import('./bulk-dialog.tsx').then((module) => module.BulkDialog))

interface BulkBarProps {
  /** The selected ones */
  deployments: readonly Deployment[]
  /** All of the page, whose use is loaded already */
  page: readonly Deployment[]
  onSelect: (selection: Selection) => void
}

/** What can be done to the selected deployments. Each button tells how many of them it affects. */
export function BulkBar({ deployments, page, onSelect }: BulkBarProps) {
  const judge = useAccessJudge()
  const [open, setOpen] = useState<{ act: Act; deployments: readonly Deployment[] } | null>(null)
  const countFor = (act: Act) =>
    deployments.filter((deployment) => judgeAct(act, deployment, judge(deployment)) === null).length
  // Those that were terminated leave the list, while the dialog still tells their results.
  if (deployments.length === 0 && open === null) return null
  return (
    <section
      aria-label={words.bar}
      className="sticky bottom-4 z-20 mx-auto flex w-fit max-w-full flex-wrap items-center justify-center gap-2 rounded-xl border bg-raised px-3 py-2 shadow-lg"
    >
      <p role="status" className="tabular px-2 font-medium">
        {words.selected(deployments.length)}
      </p>
      {acts.map((act) => {
        const count = countFor(act)
        return (
          <Button key={act} size="small" disabled={count === 0} onClick={() => setOpen({ act, deployments })}>
            {count === 0 ? words.actions[act] : words.button(words.actions[act], count)}
          </Button>
        )
      })}
      <Button variant="quiet" size="tiny" aria-label={words.clear} onClick={() => onSelect(new Set())}>
        <X />
      </Button>
      {open && (
        <Suspense>
          <BulkDialog
            {...open}
            page={page}
            onClose={(rest) => {
              setOpen(null)
              if (rest !== null) onSelect(rest)
            }}
          />
        </Suspense>
      )}
    </section>
  )
}
