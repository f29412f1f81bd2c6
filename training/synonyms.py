"""Vocabulary of the embedding corpus: groups of synonyms, and words by topic."""


def groups(text):
    """Parses lines of comma-separated words or phrases."""
    return [[word.strip() for word in line.split(',')] for line in text.strip().split('\n')]


SUBJECTS = groups('''
cat, kitten, kitty
dog, puppy, hound
horse, pony, stallion
bird, sparrow, little bird
child, kid, young one
baby, infant, newborn
boy, lad, young man
girl, lass, young woman
man, guy, gentleman
woman, lady
teacher, instructor, schoolmaster
doctor, physician
nurse, caregiver
boss, manager, supervisor
worker, employee
student, pupil, learner
friend, buddy, pal
neighbour, neighbor, person next door
soldier, warrior, fighter
thief, burglar, robber
policeman, officer, cop
king, monarch, ruler
author, writer, novelist
singer, vocalist
painter, artist
chef, cook
farmer, grower
sailor, seaman, mariner
traveller, tourist, visitor
customer, client, shopper
lawyer, attorney
scientist, researcher
programmer, developer, coder
grandmother, grandma, granny
grandfather, grandpa, granddad
''')

# Base form and -ing form.
ACTIONS = [[tuple(word.split(':')) for word in group] for group in groups('''
sleep:sleeping, nap:napping, doze:dozing, rest:resting
run:running, race:racing, sprint:sprinting
walk:walking, stroll:strolling, wander:wandering
sit:sitting, be seated:sitting down
eat:eating, dine:dining, have a meal:having a meal
drink:drinking, sip:sipping
laugh:laughing, giggle:giggling, chuckle:chuckling
cry:crying, weep:weeping, sob:sobbing
talk:talking, chat:chatting, speak:speaking
shout:shouting, yell:yelling, scream:screaming
sing:singing, hum:humming
play:playing, have fun:having fun
work:working, labour:labouring
wait:waiting, stay:staying, linger:lingering
hide:hiding, lie low:lying low
study:studying, learn:learning
dance:dancing, twirl:twirling
jump:jumping, leap:leaping, hop:hopping
read:reading, browse books:browsing books
write:writing, take notes:taking notes
cook:cooking, prepare food:preparing food
clean:cleaning, tidy up:tidying up
argue:arguing, quarrel:quarrelling, fight:fighting
dream:dreaming, daydream:daydreaming
fish:fishing, catch fish:catching fish
''')]

PLACES = groups('''
on the sofa, on the couch, on the settee
in the garden, in the yard, on the lawn
in the house, at home, indoors
in the street, on the road, in the lane
in the forest, in the woods, among the trees
at the beach, on the shore, by the sea
at the office, at work, in the workplace
at school, in the classroom
in the shop, in the store, at the market
in the kitchen, next to the stove
in bed, under the blanket
on the train, on the railway
in the car, in the vehicle, in the automobile
by the river, at the stream
in the city, in town, downtown
in the village, in the countryside
at the station, on the platform
in the restaurant, at the diner
in the library, among the books
in the hospital, at the clinic
on the boat, aboard the ship, on the vessel
in the mountains, on the hill
''')

# Two halves that are combined: a subject and an event.
AFFAIRS = groups('''
the stock market, share prices, stocks
the price of oil, fuel prices, the cost of petrol
the rent, housing costs, the price of flats
the temperature, the heat
the number of visitors, attendance, the crowd
unemployment, the number of people without work
the company's profit, the firm's earnings, business income
the population, the number of inhabitants
the sea level, the height of the ocean
traffic, the number of cars on the road
demand, the number of orders
the exchange rate, the value of the currency
''')
CHANGES = groups('''
fell, dropped, went down, declined, sank
rose, climbed, went up, increased, grew
stayed the same, did not change, remained stable
doubled, became twice as high
surprised the experts, was not expected by analysts
''')
TIMES = groups('''
today, this morning
yesterday, the day before
last week, a week ago
this year, in recent months
in the winter, during the cold season
''')

# Questions and requests; the lines of one group are synonyms.
INTENTS = groups('''
how do I deploy a model, explain how to launch a model, what are the steps to start a model, I want to run a model
how do I terminate a deployment, explain how to stop a deployment, I want to shut down my deployment, ending a running model
what does it cost, how much is the price, how expensive is it, tell me the price
what is the weather like, is it going to rain, tell me the forecast, how warm will it be outside
what time is it, tell me the time, how late is it, what does the clock say
where is the station, how do I get to the train, which way is it to the railway station, I am looking for the train station
I forgot my password, how can I reset my password, I can't sign in any more, my login does not work
cancel my order, I don't want what I ordered any more, please stop my purchase, I would like to withdraw my order
where is my parcel, when will my package arrive, track my delivery, my shipment has not come yet
I want my money back, give me a refund, please return what I paid, how can I be reimbursed
book a table for tonight, reserve seats at the restaurant, I would like a reservation for dinner
play some music, put on a song, I want to hear a tune, start the playlist
turn on the light, make the room brighter, switch on the lamp
set an alarm for seven, wake me up in the morning, I need to get up early
what is the capital of France, name the main city of France, where does the French government sit
how are you, how is it going, are you doing well
what is your name, who are you, how are you called, introduce yourself
thank you very much, thanks a lot, I am grateful for your help
goodbye, see you later, until next time
I am hungry, I need something to eat, I could eat a horse, my stomach is empty
I am tired, I need some sleep, I can hardly keep my eyes open
I feel sick, I am ill, I don't feel well, I have a fever
my computer is broken, the laptop does not start, my machine has crashed
the internet is slow, the connection keeps dropping, my network is down
the film was boring, I did not enjoy the movie, that was a dull picture
the film was great, I loved the movie, that was a wonderful picture
the food was delicious, the meal tasted great, what a tasty dinner
the food was awful, the meal tasted bad, I did not like the dinner
who won the match, what was the result of the game, which team was better
translate this into Spanish, how do you say this in Spanish, give me the Spanish words
write a short story, tell me a tale, make up a little story
summarize the text, give me the main points, make it shorter
how old are you, what is your age, when were you born
I lost my keys, I can't find my keys, my keys have disappeared
the meeting was moved, the appointment has another date, we meet at another time
invite a colleague, add a member to the organization, give my teammate access
show my invoices, where are my bills, how much do I have to pay this month
''')

# Words that occur together, by topic.
TOPICS = groups('''
cat, dog, pet, kitten, puppy, animal, fur, paw, tail, horse, bird, fish, rabbit, mouse, feed, veterinarian, purr, bark
stock, market, price, money, bank, share, invest, profit, economy, trade, currency, loan, interest, tax, budget, finance
rain, sun, snow, wind, storm, cloud, weather, temperature, cold, warm, forecast, fog, thunder, sunny, degrees, umbrella
bread, cheese, soup, fruit, dinner, lunch, breakfast, meal, cook, eat, taste, salt, sugar, restaurant, recipe, kitchen, pizza
train, plane, ticket, travel, hotel, trip, airport, holiday, journey, passport, suitcase, flight, tourist, map, station, luggage
computer, program, software, code, server, data, internet, file, keyboard, screen, bug, website, laptop, app, password, download
model, deploy, deployment, inference, token, prompt, catalog, GPU, endpoint, API, embedding, weights, running, terminate, Berth
doctor, hospital, medicine, ill, pain, health, nurse, fever, patient, disease, blood, heart, pill, surgery, clinic, cough
football, team, match, goal, game, player, win, coach, tennis, race, score, champion, ball, league, referee, stadium
song, music, guitar, piano, sing, concert, band, melody, violin, drum, album, dance, orchestra, singer, tune, radio
school, teacher, student, lesson, exam, homework, class, university, learn, study, pupil, grade, college, blackboard, lecture
house, room, door, window, roof, furniture, sofa, couch, chair, table, bed, wall, floor, garden, carpet, lamp, rent
car, road, drive, traffic, engine, wheel, truck, bus, street, fuel, driver, bicycle, brake, highway, parking, tyre
sea, ship, boat, harbour, sail, captain, wave, island, berth, anchor, sailor, port, ocean, dock, fish, coast, crew
king, queen, castle, war, soldier, battle, army, knight, sword, history, empire, crown, peace, fight, enemy, prince
star, moon, planet, sun, space, rocket, sky, astronaut, earth, orbit, telescope, galaxy, universe, mars, comet
tree, flower, forest, leaf, grass, plant, river, mountain, nature, lake, hill, field, seed, wood, valley, bush
law, judge, court, crime, police, prison, lawyer, thief, trial, guilty, murder, evidence, steal, arrest, witness
mother, father, brother, sister, family, child, baby, parents, wedding, marriage, husband, wife, son, daughter, uncle, aunt
book, read, story, write, page, author, novel, library, poem, letter, chapter, publish, newspaper, word, title
film, movie, actor, cinema, scene, theatre, director, camera, show, television, audience, comedy, drama, series, watch
work, job, office, boss, meeting, colleague, company, salary, employee, manager, contract, career, business, hire, email
happy, sad, love, angry, afraid, joy, smile, tears, feeling, lonely, proud, hate, hope, fear, laugh, cry
shirt, shoe, dress, coat, hat, wear, trousers, jacket, fashion, sock, skirt, scarf, clothes, button, tailor
president, government, election, vote, minister, party, parliament, country, politics, citizen, democracy, leader, mayor
number, sum, count, add, math, equation, zero, plus, minus, multiply, calculate, triangle, circle, geometry, percent
''')
