import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import type { Deployment } from '../../contract.ts'
import { Button } from '../../components/button.tsx'
import { Section } from '../../components/page.tsx'
import { ErrorMessage, Notice, Skeleton } from '../../components/states.tsx'
import { Cell, HeadCell, Table } from '../../components/table.tsx'
import { useToasts } from '../../components/toast.tsx'
import { formatInstant } from '../../format.ts'
import { text } from '../../text/index.ts'
import { activityQuery } from './activity-queries.ts'
import { describeSetting, findRestored, listSettings, readSettings } from './describe-settings.ts'
import { useUpdateDeployment } from './queries.ts'

const words = text.activity
const route = getRouteApi('/app/deployments/$deploymentId')

/** The settings before an earlier change beside the present ones, to be reviewed and saved. */
export function RestoreSection({ deployment, of }: { deployment: Deployment; of: string }) {
  const { data, isPending } = useInfiniteQuery(activityQuery(deployment.id))
  const navigate = route.useNavigate()
  const change = useUpdateDeployment(deployment.id)
  const toasts = useToasts()
  const item = data?.pages.flatMap((page) => page.items).find(({ id }) => String(id) === of)
  const close = () => void navigate({ search: { tab: 'settings' }, replace: true })
  if (isPending) return <Skeleton className="h-40 rounded-xl" />
  if (!item?.change) return <Notice tone="warn">{words.restoreGone}</Notice>
  const restored = findRestored(deployment, item.change.before)
  const present = readSettings(deployment)
  const names = listSettings(restored)
  const save = () =>
    change.mutate(restored, {
      onSuccess: () => {
        toasts.success(words.restoredToast)
        close()
      },
    })
  return (
    <Section
      title={words.restoreTitle(formatInstant(item.at))}
      description={words.restoreWords}
      flush={names.length > 0}
      actions={
        <>
          <Button onClick={close}>{words.discard}</Button>
          {names.length > 0 && (
            <Button variant="primary" busy={change.isPending} onClick={save}>
              {text.common.save}
            </Button>
          )}
        </>
      }
    >
      {names.length === 0 ? (
        <p className="text-muted">{words.restoreSame}</p>
      ) : (
        <Table
          label={words.restore}
          head={
            <>
              <HeadCell>{words.setting}</HeadCell>
              <HeadCell>{words.now}</HeadCell>
              <HeadCell>{words.restored}</HeadCell>
            </>
          }
        >
          {names.map((name) => (
            <tr key={name}>
              <Cell>{words.settings[name]}</Cell>
              <Cell className="wrap-anywhere text-muted">{describeSetting(name, present[name])}</Cell>
              <Cell className="font-medium wrap-anywhere">{describeSetting(name, restored[name])}</Cell>
            </tr>
          ))}
        </Table>
      )}
      {'adapters' in item.change.before && <p className="px-5 py-3 text-muted">{words.restoreLoras}</p>}
      <ErrorMessage error={change.error} />
    </Section>
  )
}
