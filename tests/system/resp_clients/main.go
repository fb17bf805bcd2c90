// What a Go program does with go-redis: one line for each thing that held, or an error and exit code 1.
package main

import (
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/redis/go-redis/v9"
)

func must(what string, err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, what+":", err)
		os.Exit(1)
	}
}

func expect(what string, got, want any) {
	if fmt.Sprint(got) != fmt.Sprint(want) {
		must(what, fmt.Errorf("got %v, not %v", got, want))
	}
	fmt.Println(what)
}

func main() {
	ctx := context.Background()
	for _, protocol := range []int{2, 3} {
		client := redis.NewClient(&redis.Options{
			Addr: os.Args[1], Password: os.Args[2], Protocol: protocol, ClientName: "go", DB: 1, PoolSize: 4})
		key := fmt.Sprintf("go-%d", protocol)
		pong, err := client.Ping(ctx).Result()
		must("PING", err)
		expect("PING", pong, "PONG")
		reply, err := client.Do(ctx, "CL.THROTTLE", key, 4, 1, 86400).Slice()
		must("CL.THROTTLE", err)
		expect("CL.THROTTLE", reply, "[0 5 4 -1 86400]")
		replies, err := client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for i := 0; i < 5; i++ {
				pipe.Do(ctx, "CL.THROTTLE", key, 4, 1, 86400)
			}
			return nil
		})
		must("pipeline", err)
		last, _ := replies[4].(*redis.Cmd).Slice()
		expect("pipeline", last[:3], "[1 5 0]")
		_, err = client.Do(ctx, "NOSUCH").Result()
		if err == nil {
			must("NOSUCH", fmt.Errorf("no error"))
		}
		var wait sync.WaitGroup
		for i := 0; i < 50; i++ {
			wait.Add(1)
			go func() {
				defer wait.Done()
				must("pool", client.Do(ctx, "THROTTLE", key, 1000, 1, 60).Err())
			}()
		}
		wait.Wait()
		reply, err = client.Do(ctx, "THROTTLE", key, 1000, 1, 60, 0).Slice()
		must("THROTTLE", err)
		expect("THROTTLE from a pool", reply[2], 950)
		must("close", client.Close())
	}
}
