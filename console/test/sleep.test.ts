import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { useConsole } from './support/console.ts'
import { startConsoleServer } from './support/server.ts'
import { callByApi, createPerson, deployByApi, registerByApi, see, seeGone } from './support/steps.ts'

const site = useConsole(startConsoleServer)

async function openDeployment() {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  const id = await deployByApi(page)
  await page.goto(`/deployments/${id}`)
  return { page, id, terminate: () => page.request.delete(`/api/v1/model-deployments/${id}`) }
}

const badge = (page: Page, status: string) => page.getByRole('status').getByText(status, { exact: true })
const click = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()

test('a deployment is put to sleep and woken on its page; the timeline says by whom, and how long it slept', async () => {
  const { page, terminate } = await openDeployment()
  const instances = page.getByRole('list', { name: 'Instances' })
  await see(instances.getByText('local-cpu'))
  await see(instances.getByText(/ · Idle · \$[\d.]+\/hour$/))

  await click(page, 'Sleep')
  await see(badge(page, 'Sleeping'))
  await see(page.getByText(/^It costs nothing\. .+ The last start took [\d.]+\sm?s\.$/))
  await see(page.getByText('None now: nothing is billed.'))
  await see(page.getByText(/^Asleep since .+ Ada Lovelace put it to sleep\.$/))
  expect(await instances.count()).toBe(0)
  const activity = page.getByRole('list', { name: 'Activity' })
  await page.getByRole('tab', { name: 'Activity' }).click()
  await see(activity.getByRole('heading', { name: 'Asleep' }))
  await page.goBack()
  // The page shows what a sleep saved once it has lasted a second.
  await see(page.getByText('Saved by sleep'))

  await page.goto('/deployments')
  await see(page.getByText('The next request wakes it.'))
  await page.getByRole('button', { name: 'Actions for berth-tiny' }).click()
  await page.getByRole('menuitem', { name: 'Wake' }).click()
  await see(page.getByText('Running', { exact: true }))
  await page.getByRole('link', { name: 'berth-tiny', exact: true }).click()
  await see(instances.getByText('Running'))
  await see(page.getByText(/^ready for .+\/hour, .+ so far, saved .+ by sleep$/))
  await see(page.getByText('Saved by sleep'))
  await page.getByRole('tab', { name: 'Activity' }).click()
  await expect
    .poll(() => activity.getByRole('heading').allInnerTexts())
    .toEqual(['Awake', 'Asleep', 'Running', 'Requested'])
  await see(activity.getByText(/^took [\d.]+\sm?s$/).first())
  await click(page, 'Show every step')
  await see(page.getByText(/^Woken by Ada Lovelace after (less than a|1) minute\.$/))
  await see(page.getByText(/^Last requests [\d.]+\sm?s$/))
  expect(await page.getByText(/^Engine start [\d.]+\sm?s$/).count()).toBe(2)
  await page.getByRole('tab', { name: 'Metrics' }).click()
  await see(page.getByRole('application', { name: /^Instances over time/ }))
  await see(page.getByRole('application', { name: /^Load over time/ }))
  await terminate()
})

test('a chat in the playground wakes a sleeping deployment, and says that it does', async () => {
  const { page, id, terminate } = await openDeployment()
  await click(page, 'Sleep')
  await see(badge(page, 'Sleeping'))
  await page.getByRole('link', { name: 'Open in playground' }).click()
  await see(page.getByText(/^berth-tiny .+ is sleeping and costs nothing\. .+ The last start took/))
  await page.getByRole('textbox', { name: 'Message' }).fill('Who are you?')
  await click(page, 'Send')
  await see(page.getByText(/^The model is waking up: \d+\ss so far\./))
  await see(page.getByText(/ to first token/))
  await seeGone(page.getByText(/is sleeping and costs nothing/))
  expect(await page.getByRole('alert').count()).toBe(0)
  await page.goto(`/deployments/${id}?tab=activity`)
  await click(page, 'Show every step')
  await see(page.getByText(/^Woken by a chat request after/))
  await terminate()
})

test('the log goes on after a wake, with the lines of each instance', async () => {
  const { page, terminate } = await openDeployment()
  await click(page, 'Sleep')
  await see(badge(page, 'Sleeping'))
  await page.getByRole('tab', { name: 'Logs' }).click()
  const lines = page.getByRole('log').getByText(/context of \d+ tokens/)
  await expect.poll(() => lines.count()).toBe(1)
  const instance = page.getByLabel('Instance', { exact: true })
  expect(await instance.count()).toBe(0)
  await click(page, 'Wake')
  await expect.poll(() => lines.count()).toBe(2)
  await instance.selectOption('Instance 1 (released)')
  await expect.poll(() => lines.count()).toBe(1)
  await see(page.getByText(/^\d+ of \d+ lines$/))
  await instance.selectOption('All instances')
  await expect.poll(() => lines.count()).toBe(2)
  await terminate()
})

test('scaling and sleep are shown in words and edited in a dialog, which asks before it discards changes', async () => {
  const { page, id, terminate } = await openDeployment()
  await see(page.getByText('1 instance while awake. Never sleeps by itself.'))
  await click(page, 'Edit scaling and sleep')
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Sleep after').fill('20000')
  await see(dialog.getByText('Enter a whole number from 1 to 10,080.'))
  await dialog.getByLabel('Sleep after').fill('45')
  await dialog.getByLabel('At most').fill('2')
  await dialog.getByLabel('Requests per instance').fill('8')
  await see(dialog.getByText(`berth scale ${id} --max 2 --concurrency 8 --idle-minutes 45`))
  await page.keyboard.press('Escape')
  await see(dialog.getByText('Discard your changes?'))
  await page.keyboard.press('Escape')
  await seeGone(dialog.getByText('Discard your changes?'))
  expect(await dialog.getByLabel('Requests per instance').inputValue()).toBe('8')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await seeGone(dialog)
  await see(
    page.getByText('1 to 2 instances while awake, by the load. Sleeps after 45 minutes without requests.'),
  )
  const path = `/api/v1/model-deployments/${id}`
  expect(await callByApi(page.request, 'GET', path)).toMatchObject({
    policy: { min_instances: 1, max_instances: 2, idle_minutes: 45, target_concurrency: 8 },
  })
  await terminate()
})

test('schedules are set as hours or cron patterns, with their next times; an idle deployment may yield', async () => {
  const { page, id, terminate } = await openDeployment()
  await click(page, 'Edit scaling and sleep')
  const dialog = page.getByRole('dialog')
  await see(dialog.getByText(/^Up to \$[\d.]+\/hour$/))
  await dialog.getByLabel('At most').fill('2')
  await click(page, 'Add hours')
  await dialog.getByLabel('Time zone').selectOption('Europe/Berlin')
  const hours = dialog.getByRole('group', {
    name: 'Keep 1 awake on weekdays from 08:00 to 18:00 (Europe/Berlin)',
  })
  await hours.getByLabel('Keep awake').fill('3')
  await see(dialog.getByText('Keep 1 to 2 awake: there are at most 2 instances.'))
  expect(await dialog.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true)
  // The reason stands beside Save too, and leads to the field.
  await dialog.getByRole('button', { name: 'Keep 1 to 2 awake: there are at most 2 instances.' }).click()
  const wrong = dialog.getByRole('group', { name: 'New schedule' })
  await expect.poll(() => wrong.evaluate((group) => group.contains(document.activeElement))).toBe(true)
  await dialog.getByLabel('Keep awake').fill('2')
  await dialog.getByLabel('Sat', { exact: true }).check()
  await dialog.getByLabel('Until').fill('20:30')
  await see(dialog.getByText('Next times, in your time zone (UTC)'))
  await see(dialog.getByRole('listitem').getByText('Keep 2 awake').first())
  await see(dialog.getByRole('listitem').getByText('May sleep').first())

  await click(page, 'Add cron pattern')
  await dialog.getByLabel('Cron pattern').fill('0 25 * * *')
  await see(dialog.getByText(/^Enter five fields/))
  await dialog.getByLabel('Cron pattern').fill('*/5 8 1 * *')
  await dialog.getByLabel('Yield the hardware when idle').check()
  await dialog.getByLabel('Separate prompt caches').check()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await seeGone(dialog)
  await see(page.getByText('Keep 2 awake on Mon to Sat from 08:00 to 20:30 (Europe/Berlin)'))
  await see(page.getByText(/May fall asleep early .+ hardware\. Members share no cached prompts\.$/))
  const path = `/api/v1/model-deployments/${id}`
  const berlin = { time_zone: 'Europe/Berlin' }
  expect(await callByApi(page.request, 'GET', path)).toMatchObject({
    policy: {
      yields: true,
      cache_scope: 'member',
      schedules: [
        { ...berlin, cron: '0 8 * * MON,TUE,WED,THU,FRI,SAT', min_instances: 2 },
        { ...berlin, cron: '30 20 * * MON,TUE,WED,THU,FRI,SAT', min_instances: 0 },
        { ...berlin, cron: '*/5 8 1 * *', min_instances: 1 },
      ],
    },
  })

  await click(page, 'Edit scaling and sleep')
  await click(page, 'Remove: Keep 2 awake on Mon to Sat from 08:00 to 20:30 (Europe/Berlin)')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await seeGone(dialog)
  await seeGone(page.getByText(/08:00 to 20:30/))
  await terminate()
})

test('the deploy dialog says what sleep saves, and sets it', async () => {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  await page.goto('/catalog')
  await page.getByRole('link', { name: 'Berth Tiny', exact: true }).click()
  await click(page, 'Deploy')
  const dialog = page.getByRole('dialog')
  await see(dialog.getByText(/^Saves \$[\d.]+ for each idle hour\./))
  await dialog.getByLabel('Sleep after 30 minutes without requests').check()
  await dialog.getByRole('button', { name: 'Deploy', exact: true }).click()
  await page.waitForURL('**/deployments/*')
  await see(page.getByText('1 instance while awake. Sleeps after 30 minutes without requests.'))
  await page.request.delete(`/api/v1/model-deployments/${page.url().split('/').at(-1)}`)
})
