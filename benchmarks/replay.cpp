// Replays what the processors of a run did in SimGrid; prints the clock at the end. See simgrid.py.
//
//     replay RULE [--cfg=...] < trace
//
// The trace: "P gamma beta alpha" (seconds a flop, a word, a message), then a line "rank flops to words number from
// number" for each step, in the order of each processor: what it computes before the step, to whom it sends how many
// words as which message, and from whom it receives which; -1 where it does not. Behind the last step is none.
//
// RULE says what a step is. "eager": as in the cost rules, sending never waits, and a step that sends and receives does
// both, at the same time, from when its sender has begun. "rendezvous": MPI_Isend, MPI_Irecv, MPI_Waitall, and the
// sender too waits until its message is received.
#include <cstdio>
#include <iostream>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

namespace sg4 = simgrid::s4u;

struct Step { double flops, words; int to, from; long sent, received; };

static const double WORD = 8; // bytes

// Each ordered pair of processors has a link of its own; the one from a processor to itself is its way out.
static std::vector<sg4::Host*> crossbar(int count, double gamma, double beta, double alpha) {
  auto* zone = sg4::create_full_zone("crossbar");
  std::vector<sg4::Host*> hosts;
  for (int rank = 0; rank < count; rank++)
    hosts.push_back(zone->create_host("host" + std::to_string(rank), 1 / gamma)->seal());
  for (const auto* source : hosts)
    for (const auto* target : hosts) {
      auto* link = zone->create_link(source->get_name() + "-" + target->get_name(), WORD / beta)->set_latency(alpha);
      zone->add_route(source->get_netpoint(), target->get_netpoint(), nullptr, nullptr, {sg4::LinkInRoute(link)}, false);
    }
  zone->seal();
  return hosts;
}

static void replay(const std::vector<Step>& steps, bool eager, std::vector<sg4::SemaphorePtr>& begun) {
  static char content; // of all messages
  void* received;
  auto* here   = sg4::this_actor::get_host();
  auto mailbox = [](long message) { return sg4::Mailbox::by_name(std::to_string(message)); };
  for (const auto& step : steps) {
    if (step.flops > 0) sg4::this_actor::execute(step.flops);
    std::vector<sg4::CommPtr> transfers;
    if (step.to >= 0) {
      auto message = mailbox(step.sent)->put_init(&content, static_cast<uint64_t>(step.words * WORD));
      if (eager) message->detach();
      else transfers.push_back(message->start());
      begun[step.sent]->release();
    }
    if (step.from >= 0) {
      if (eager) begun[step.received]->acquire();
      transfers.push_back(mailbox(step.received)->get_async<void>(&received));
    }
    if (eager && step.to >= 0)
      transfers.push_back(sg4::Comm::sendto_async(here, here, static_cast<uint64_t>(step.words * WORD)));
    sg4::Comm::wait_all(transfers);
  }
}

int main(int argc, char** argv) {
  sg4::Engine engine(&argc, argv);
  const bool eager = std::string(argv[1]) == "eager";
  int count, rank;
  double gamma, beta, alpha;
  std::cin >> count >> gamma >> beta >> alpha;
  std::vector<std::vector<Step>> steps(count);
  std::vector<sg4::SemaphorePtr> begun;
  for (Step step; std::cin >> rank >> step.flops >> step.to >> step.words >> step.sent >> step.from >> step.received;) {
    steps[rank].push_back(step);
    if (step.to >= 0) begun.push_back(sg4::Semaphore::create(0));
  }
  const auto hosts = crossbar(count, gamma, beta, alpha);
  for (int each = 0; each < count; each++)
    sg4::Actor::create("processor" + std::to_string(each), hosts[each],
                       [&steps, eager, &begun, each] { replay(steps[each], eager, begun); });
  engine.run();
  std::printf("%.17g\n", sg4::Engine::get_clock());
}
