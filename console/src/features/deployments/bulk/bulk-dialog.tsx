import { Check, TriangleAlert } from 'lucide-react'
import { Button } from '../../../components/button.tsx'
import { Dialog } from '../../../components/dialog.tsx'
import { Spinner } from '../../../components/spinner.tsx'
import { describeError } from '../../../components/states.tsx'
import type { Deployment, DeploymentUse } from '../../../contract.ts'
import { SameCommand } from '../../../domain/cli/same-command.tsx'
import { toCommandName, writeCommand } from '../../../domain/cli/write-command.ts'
import { describeDeployment, findIdSuffixes, nameDeployment } from '../../../domain/deployments/names.ts'
import { useAccessJudge } from '../../../domain/deployments/use-access.ts'
import { formatRelative } from '../../../format.ts'
import { text } from '../../../text/index.ts'
import { ManagedNotice } from '../managed-notice.tsx'
import { usePayer } from '../payer.ts'
import { useSummaries } from '../use-summaries.ts'
import { judgeAct } from './judge-act.ts'
import type { Act } from './judge-act.ts'
import type { Selection } from './select-box.tsx'
import { useBulkAct } from './use-bulk-act.ts'
import type { Progress } from './use-bulk-act.ts'

const words = text.bulk

interface BulkDialogProps {
  act: Act
  /** The selected ones when the dialog opened */
  deployments: readonly Deployment[]
  /** All of the page, whose use is loaded already */
  page: readonly Deployment[]
  /** With what stays selected; null if nothing was done */
  onClose: (rest: Selection | null) => void
}

/** Names what an action on several deployments affects and what not, then shows the result of each. */
export function BulkDialog({ act, deployments, page, onClose }: BulkDialogProps) {
  const judge = useAccessJudge()
  const { progress, isRunning, run } = useBulkAct(act)
  const uses = useSummaries(page)
  const suffixes = findIdSuffixes(deployments)
  const hasRun = progress.size > 0
  const judged = deployments.map((deployment) => ({
    deployment,
    reason: judgeAct(act, deployment, judge(deployment)),
  }))
  const affected = judged.filter(({ reason }) => reason === null).map(({ deployment }) => deployment)
  const failed = affected.filter(({ id }) => progress.get(id)?.state === 'failed')
  const nameOf = (deployment: Deployment) =>
    [nameDeployment(deployment), suffixes.get(deployment.id)].filter(Boolean).join(' ')
  const close = () => onClose(hasRun ? new Set(failed.map(({ id }) => id)) : null)
  const todo = hasRun ? failed : affected
  return (
    <Dialog
      wide
      locked={isRunning}
      onClose={close}
      title={words.titles[act](affected.length)}
      description={words.words[act]}
      actions={
        <>
          <Button disabled={isRunning} onClick={close}>
            {hasRun ? words.close : text.common.cancel}
          </Button>
          {(isRunning || todo.length > 0) && (
            <Button
              variant={act === 'terminate' ? 'danger' : 'primary'}
              busy={isRunning}
              onClick={() => void run(todo)}
            >
              {hasRun && !isRunning
                ? words.retry(failed.length)
                : words.button(words.actions[act], affected.length)}
            </Button>
          )}
        </>
      }
    >
      <div className="grid gap-4">
        {act === 'terminate' && !hasRun && <ManagedNotice deployments={affected} ends />}
        <ul aria-label={words.affected} className="divide-y rounded-md border">
          {affected.map((deployment) => (
            <li key={deployment.id} className="flex items-start gap-3 px-3 py-2">
              <div className="min-w-0 flex-1">
                <p className="font-medium wrap-anywhere">{nameOf(deployment)}</p>
                <Details deployment={deployment} use={uses.get(deployment.id)} />
                <Failure progress={progress.get(deployment.id)} />
              </div>
              <State act={act} progress={progress.get(deployment.id)} />
            </li>
          ))}
        </ul>
        <p role="status" className="empty:hidden">
          {hasRun && !isRunning && words.finished(affected.length - failed.length, failed.length)}
        </p>
        {act === 'terminate' && !hasRun && affected.length > 0 && (
          <SameCommand command={writeCommand(['rm', ...affected.map(toCommandName)])} />
        )}
        {affected.length < judged.length && (
          <div className="text-muted">
            <p className="font-medium">{words.left}</p>
            <ul className="list-disc pl-5">
              {judged.map(
                ({ deployment, reason }) =>
                  reason !== null && (
                    <li key={deployment.id} className="wrap-anywhere">
                      {nameOf(deployment)}: {words.reasons[reason]}
                    </li>
                  ),
              )}
            </ul>
          </div>
        )}
      </div>
    </Dialog>
  )
}

/** What runs there, whose it is, who may call it, and when somebody last did */
function Details({ deployment, use }: { deployment: Deployment; use: DeploymentUse | undefined }) {
  const organization = usePayer(deployment).name ?? ''
  const { shared_with: sharedWith, owner } = deployment
  const facts = [
    describeDeployment(deployment),
    text.team.ownedBy(owner.name || owner.email),
    sharedWith === null ? words.ownerOnly : words.shared(organization),
    use && (use.last_used_at === null ? words.neverUsed : words.used(formatRelative(use.last_used_at))),
  ]
  return <p className="text-[0.8125rem] wrap-anywhere text-muted">{facts.filter(Boolean).join(' · ')}</p>
}

function Failure({ progress }: { progress: Progress | undefined }) {
  if (progress?.state !== 'failed') return null
  return (
    <p role="alert" className="text-[0.8125rem] wrap-anywhere text-bad">
      {describeError(progress.error)}
    </p>
  )
}

function State({ act, progress }: { act: Act; progress: Progress | undefined }) {
  switch (progress?.state) {
    case undefined:
      return null
    case 'waiting':
      return <span className="text-[0.8125rem] text-muted">{words.waiting}</span>
    case 'running':
      return <Spinner />
    case 'done':
      return (
        <span className="flex items-center gap-1.5 text-[0.8125rem] whitespace-nowrap text-good">
          <Check aria-hidden className="size-4" />
          {words.done[act]}
        </span>
      )
    case 'failed':
      return <TriangleAlert aria-hidden className="size-4 shrink-0 text-bad" />
  }
}
