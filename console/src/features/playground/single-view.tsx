import { CodeXml } from 'lucide-react'
import { Suspense, useState } from 'react'
import type { ComponentProps, ReactNode } from 'react'
import { classNames } from '../../class-names.ts'
import { answersRequests } from '../../domain/deployments/status.ts'
import { text } from '../../text/index.ts'
import { Action } from './action.tsx'
import { DeploymentChoice } from './deployment-choice.tsx'
import { DeploymentNotices } from './deployment-notices.tsx'
import { ViewCodeDialog } from './lazy-parts.ts'
import { NoDeployment } from './no-deployment.tsx'
import { chooseTarget, toSampleModel } from './targets.ts'
import { ViewFrame } from './view-frame.tsx'
import type { ViewProps } from './view-frame.tsx'

interface SingleViewProps extends ViewProps {
  /** What stands there without a deployment to call */
  none: ComponentProps<typeof NoDeployment>
  /** The request of the code samples, without its `model` */
  sample: Pick<ComponentProps<typeof ViewCodeDialog>, 'kind' | 'body'>
  /** The columns on a wide screen, as a class */
  columns: string
  /** The request and its result; `answers`: whether the target answers requests */
  children: (target: { id: string; answers: boolean }) => ReactNode
}

/** A view that calls one deployment: a request beside its result. */
export function SingleView({
  heading,
  targets,
  names,
  ids,
  onChoose,
  none,
  sample,
  columns,
  children,
}: SingleViewProps) {
  const [codeOpen, setCodeOpen] = useState(false)
  const { id, target } = chooseTarget(targets, ids)
  if (id === undefined) {
    return (
      <ViewFrame heading={heading}>
        <NoDeployment {...none} />
      </ViewFrame>
    )
  }
  return (
    <ViewFrame
      heading={heading}
      choice={<DeploymentChoice targets={targets} names={names} ids={[id]} max={1} onChoose={onChoose} />}
      actions={
        <Action
          icon={<CodeXml aria-hidden />}
          label={text.playground.viewCode}
          onClick={() => setCodeOpen(true)}
        />
      }
    >
      <div className="min-h-0 flex-1 overflow-y-auto px-4 pt-1 pb-8 sm:px-8">
        <div className="grid max-w-6xl gap-5">
          <DeploymentNotices targets={targets} names={names} ids={[id]} />
          <div className={classNames('grid items-start gap-5', columns)}>
            {children({ id, answers: target !== undefined && answersRequests(target) })}
          </div>
        </div>
      </div>
      <Suspense>
        {codeOpen && (
          <ViewCodeDialog
            onClose={() => setCodeOpen(false)}
            kind={sample.kind}
            body={{ model: target ? toSampleModel(target) : id, ...sample.body }}
          />
        )}
      </Suspense>
    </ViewFrame>
  )
}
